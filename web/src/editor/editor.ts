// The editor of templates: CodeMirror in a shadow root, where its style sheets are allowed by the page's content policy.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { unifiedMergeView } from "@codemirror/merge";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export interface Mark {
  line: number;
  column: number;
  severity: "error" | "warning";
  message: string;
}

export interface EditorOptions {
  text: string;
  label: string;
  readOnly?: boolean;
  /** Compare with this text: lines that differ are coloured. */
  before?: string;
  changed?: (text: string) => void;
  /** The cursor has moved to a line. */
  line?: (line: number) => void;
}

export interface Editor {
  text(): string;
  setText(text: string): void;
  marks(list: readonly Mark[]): void;
  show(line: number, focus?: boolean): void;
  compare(before: string | null): void;
  close(): void;
}

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-value)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.meta, tags.labelName, tags.typeName], color: "var(--code-value)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--card)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px" },
  ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { backgroundColor: "var(--select)" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "7px" },
  ".cm-insertedLine, .cm-changedLine": { backgroundColor: "var(--plus) !important" },
  ".cm-changedText": { background: "var(--plus-strong) !important" },
  ".cm-collapsedLines": { background: "var(--hover) !important", color: "var(--muted) !important", fontFamily: "var(--sans)" },
  ".cm-deletedChunk": { backgroundColor: "var(--minus) !important" },
  ".cm-deletedChunk .cm-deletedText": { background: "var(--minus-strong) !important" },
});

export function create(parent: HTMLElement, options: EditorOptions): Editor {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const comparing = new Compartment();
  const extensions: Extension[] = [
    lineNumbers(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(),
    yaml(), syntaxHighlighting(colors), look, indentUnit.of("  "), EditorState.tabSize.of(2), lintGutter(),
    EditorView.contentAttributes.of({ "aria-label": options.label, spellcheck: "false" }),
    comparing.of(comparison(options.before ?? null, options.text)),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) options.changed?.(update.state.doc.toString());
      if (update.selectionSet) options.line?.(update.state.doc.lineAt(update.state.selection.main.head).number);
    }),
    options.readOnly
      ? [EditorState.readOnly.of(true)]
      : // Esc, then Tab leaves the editor by keyboard, as CodeMirror's documentation advises.
        [history(), keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab])],
  ];
  const view = new EditorView({ state: EditorState.create({ doc: options.text, extensions }), parent: root, root });
  return {
    text: () => view.state.doc.toString(),
    setText: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    marks: (list) => view.dispatch(setDiagnostics(view.state, list.map((mark) => diagnostic(view.state, mark)))),
    show(line, focus = false) {
      const at = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines)).from;
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      if (focus) view.focus();
    },
    compare: (before) => view.dispatch({ effects: comparing.reconfigure(comparison(before, view.state.doc.toString())) }),
    close: () => view.destroy(),
  };
}

function comparison(before: string | null, text: string): Extension {
  return before === null || before === text ? [] : unifiedMergeView({ original: before, mergeControls: false, highlightChanges: true, gutter: true, collapseUnchanged: { margin: 4, minSize: 8 } });
}

function diagnostic(state: EditorState, mark: Mark): Diagnostic {
  const line = state.doc.line(Math.min(Math.max(1, mark.line), state.doc.lines));
  const from = Math.min(line.to, line.from + Math.max(0, mark.column - 1));
  const word = /^[^\s:#]+/.exec(state.doc.sliceString(from, line.to));
  return { from, to: Math.max(from, from + (word?.[0].length ?? 0)), severity: mark.severity, message: mark.message };
}

