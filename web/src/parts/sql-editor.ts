// The SQL editor: CodeMirror with completion for SQL and the table's columns. Loaded on first use.
import { autocompletion, closeBrackets, closeBracketsKeymap, completeFromList, completionKeymap, snippetCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Problem } from "../api/problem";
import { DuckDB, FUNCTION_NAMES } from "./sql-dialect";

export interface SqlEditor {
  focus(): void;
  /** Marks an error at its position; null clears it. */
  mark(problem: Problem | null): void;
  close(): void;
}

export interface SqlOptions {
  text: string;
  columns: { name: string; type: string }[];
  onChange: (text: string) => void;
  onRun: () => void;
}

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.operator, tags.punctuation], color: "var(--muted)" },
]);

const LOOK = EditorView.theme({
  "&": { minHeight: "92px", fontSize: "13px", backgroundColor: "transparent" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--text)", padding: "10px 0" },
  "&.cm-focused": { outline: "none" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--mine-soft)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", border: "1px solid var(--line)", borderRadius: "8px", boxShadow: "var(--shadow)", overflow: "hidden" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12px", maxHeight: "220px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px", lineHeight: "1.5" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--mine)", color: "var(--on-mine)" },
  ".cm-diagnostic": { padding: "6px 10px", fontFamily: "var(--sans)" },
});

const FUNCTIONS = FUNCTION_NAMES.map((name) => snippetCompletion(`${name}(\${})`, { label: name, detail: "()", type: "function" }));

/** The word at the position of an error. */
function errorRange(text: string, offset: number): { from: number; to: number } {
  const from = Math.min(Math.max(0, offset), text.length);
  const word = /^[\p{L}\p{N}_]+|^"[^"]*"|^\S/u.exec(text.slice(from))?.[0] ?? "";
  if (word) return { from, to: from + word.length };
  return { from: Math.max(0, from - 1), to: Math.max(from, Math.min(text.length, 1)) };
}

export function openEditor(parent: HTMLElement, options: SqlOptions): SqlEditor {
  const columns = options.columns.map(({ name, type }) => ({
    label: name,
    type: "property",
    detail: type,
    apply: /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`,
    boost: 20,
  }));
  parent.replaceChildren();
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        keymap.of([
          { key: "Mod-Enter", preventDefault: true, run: () => (options.onRun(), true) },
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...defaultKeymap,
          ...historyKeymap,
        ]),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        autocompletion({ icons: false }),
        placeholder("SELECT … FROM result"),
        sql({ dialect: DuckDB, schema: { result: columns }, defaultTable: "result" }),
        DuckDB.language.data.of({ autocomplete: completeFromList(FUNCTIONS) }),
        syntaxHighlighting(COLOURS),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "SQL query; press Escape, then Tab, to leave the editor" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onChange(update.state.doc.toString());
        }),
        LOOK,
      ],
    }),
  });
  return {
    focus: () => view.focus(),
    close: () => view.destroy(),
    mark: (problem) => {
      const text = view.state.doc.toString();
      const diagnostics = problem?.at
        ? [{ ...errorRange(text, problem.at.offset), severity: "error" as const, message: problem.message }]
        : [];
      view.dispatch(setDiagnostics(view.state, diagnostics));
      if (diagnostics[0]) view.dispatch({ selection: { anchor: diagnostics[0].from }, scrollIntoView: true });
    },
  };
}
