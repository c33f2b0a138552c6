// The theme: light, dark or the system's.
import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "lakejoin-theme";

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto";
  }
}

export const theme = signal<Theme>(stored());

export function nextTheme(): void {
  const order: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
  theme.value = order[theme.value];
}

export function followTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    try {
      localStorage.setItem(KEY, theme.value);
    } catch {
      // Without storage, the choice lasts until the page is closed.
    }
  });
}
