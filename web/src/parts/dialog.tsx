// Dialogs: the browser's own, so that focus, Escape and what lies behind are taken care of.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "./controls";

export function Dialog({ title, onClose, children, wide = false, testId }: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
  testId?: string;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog
      ref={element} class={`dialog ${wide ? "wide" : ""}`} aria-label={title} data-testid={testId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2>{title}</h2>
          <Button icon="close" look="ghost" aria-label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface Question {
  title: string;
  words: string;
  yes: string;
  answer: (yes: boolean) => void;
}

const question = signal<Question | null>(null);

/** Asks before something is lost. */
export function confirmed(title: string, words: string, yes: string): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = {
      title,
      words,
      yes,
      answer: (value) => {
        question.value = null;
        resolve(value);
      },
    };
  });
}

export function Questions() {
  const now = question.value;
  if (!now) return null;
  return (
    <Dialog title={now.title} onClose={() => now.answer(false)} testId="question">
      <p class="dialog-words">{now.words}</p>
      <div class="dialog-actions">
        <Button onClick={() => now.answer(false)}>Leave it</Button>
        <Button look="primary" onClick={() => now.answer(true)} testId="question-yes">{now.yes}</Button>
      </div>
    </Dialog>
  );
}
