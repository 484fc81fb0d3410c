// What the tabs of a stack share with the page around them.

import type { Delta, Summary } from "../api/types.ts";
import type { Page } from "../app.ts";

export interface StackContext {
  readonly name: string;
  readonly id: string;
  summary(): Summary | null;
  /** Read the head of the page again. */
  again(): void;
  /** The tab wants other deltas: its stream is opened again. */
  streamChanged(): void;
}

export interface StackTab extends Omit<Page, "title"> {
  delta?(delta: Delta): void;
  /** Read the view again. */
  again(): void;
  /** The query of the stream that this tab needs. */
  stream?(): Record<string, string | string[]>;
}

/** Whether a change is the end of an operation: what was read seldom is read once more. */
export function hasEnded(delta: Delta): boolean {
  return delta.operation !== undefined && !delta.operation.running;
}
