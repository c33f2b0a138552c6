// Dialogs, as native <dialog> elements, which handle focus, Escape and the backdrop.
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

/** Asks the user to confirm. */
export function confirm(title: string, words: string, yes: string): Promise<boolean> {
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
  const current = question.value;
  if (!current) return null;
  return (
    <Dialog title={current.title} onClose={() => current.answer(false)} testId="question">
      <p class="dialog-words">{current.words}</p>
      <div class="dialog-actions">
        <Button onClick={() => current.answer(false)}>Cancel</Button>
        <Button look="primary" onClick={() => current.answer(true)} testId="question-yes">{current.yes}</Button>
      </div>
    </Dialog>
  );
}
