// Loads the editor when a page needs it: it is larger than everything else together.

import type { Editor, EditorOptions } from "./editor.ts";

let module: Promise<typeof import("./editor.ts")> | null = null;

export type { Editor };

export async function makeEditor(parent: HTMLElement, options: EditorOptions): Promise<Editor> {
  module ??= import("./editor.ts");
  return (await module).create(parent, options);
}
