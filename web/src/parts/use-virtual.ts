// TanStack's virtualizer for Preact: which rows or columns are visible.
import { Virtualizer, type VirtualizerOptions } from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

type Options = VirtualizerOptions<HTMLElement, HTMLElement>;

export function useVirtual(options: Options): Virtualizer<HTMLElement, HTMLElement> {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const withRender: Options = { ...options, onChange: () => render(undefined as never) };
  const [virtual] = useState(() => new Virtualizer(withRender));
  virtual.setOptions(withRender);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  return virtual;
}
