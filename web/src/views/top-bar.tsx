// The bar at the top: home, the chain of steps, and actions.
import { Button } from "../parts/controls";
import { Icon, type IconName, Logo } from "../parts/icon";
import { go } from "../state/history";
import { page } from "../state/page";
import { nextTheme, theme, type Theme } from "../state/theme";
import { ChainPath } from "./chain-path";
import { ShareButton } from "./share";
import { shortcutsShown } from "./shortcuts";
import { ExportButton } from "./export";

const THEMES: Record<Theme, { icon: IconName; name: string }> = {
  auto: { icon: "auto", name: "Theme: system" },
  light: { icon: "light", name: "Theme: light" },
  dark: { icon: "dark", name: "Theme: dark" },
};

export function TopBar() {
  const now = page.value;
  const { icon, name } = THEMES[theme.value];
  return (
    <header class="top-bar">
      <a class="brand" href="/" data-testid="brand" onClick={(event) => {
        event.preventDefault();
        go({ page: "home" });
      }}>
        <Logo />
        <span class="brand-name">lakejoin</span>
      </a>
      {now.page === "work" ? <ChainPath work={now.work} /> : <span class="top-space" />}
      <nav class="top-actions" aria-label="Page">
        {now.page === "work" && <ExportButton work={now.work} />}
        {now.page === "work" && <ShareButton work={now.work} />}
        <Button icon="lake" look="ghost" class={now.page === "lake" ? "current" : ""} testId="open-lake" onClick={() => go({ page: "lake" })}>
          <span class="wide-only">Lake</span>
        </Button>
        <button type="button" class="button ghost only-icon" onClick={nextTheme} title={name} aria-label={name} data-testid="theme">
          <Icon name={icon} />
        </button>
        <Button icon="keyboard" look="ghost" class="wide-only" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => (shortcutsShown.value = true)} />
      </nav>
    </header>
  );
}
