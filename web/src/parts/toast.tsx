// Short notices that disappear by themselves.
import { signal } from "@preact/signals";
import { Icon } from "./icon";

interface Toast {
  id: number;
  words: string;
  bad: boolean;
}

const toasts = signal<Toast[]>([]);
let count = 0;

export function toast(words: string, bad = false): void {
  const id = (count += 1);
  toasts.value = [...toasts.value.slice(-2), { id, words, bad }];
  setTimeout(() => {
    toasts.value = toasts.value.filter((entry) => entry.id !== id);
  }, bad ? 7000 : 3200);
}

export async function copyText(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(done);
  } catch {
    toast("The browser blocked copying.", true);
  }
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, words, bad }) => (
        <div key={id} class={`toast ${bad ? "bad" : ""}`} data-testid="toast">
          <Icon name={bad ? "warn" : "check"} size={15} />
          {words}
        </div>
      ))}
    </div>
  );
}
