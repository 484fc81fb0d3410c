// Which rows of a long list are in view: pure arithmetic (test/window.test.ts), and the list that uses it.

import { html, type TemplateResult } from "./html.ts";
import { refresh } from "../app.ts";

export interface Window {
  from: number;
  to: number;
  before: number;
  after: number;
}

const SPARE = 6;
const MOST_ROWS = 60;

/** Return the rows to draw, and the heights of what is left out before and after them. */
export function windowOf(length: number, row: number, top: number, height: number): Window {
  const first = Math.floor(Math.max(0, top) / row);
  const from = Math.min(Math.max(0, first - SPARE), Math.max(0, length - 1));
  const shown = Math.min(Math.ceil(height / row) + 2 * SPARE, MOST_ROWS);
  const to = Math.min(length, from + shown);
  return { from, to, before: from * row, after: (length - to) * row };
}

/** A list of which only the rows in view are in the document. It scrolls with the element whose class is `scroller`. */
export class Rows<T> {
  private top = 0;
  private height = 900;
  private scroller: Element | null = null;

  constructor(
    private readonly rowHeight: () => number,
    private readonly each: (item: T, index: number) => unknown,
    private readonly atEnd: () => void = () => undefined,
    private readonly role: "rowgroup" | "group" = "rowgroup",
  ) {}

  get row(): number {
    return this.rowHeight();
  }

  /** Handle a scroll of the element around the rows. */
  readonly scrolled = (event: Event): void => {
    const box = event.currentTarget as HTMLElement;
    this.measure(box);
    refresh();
  };

  private measure(box: Element): void {
    this.scroller = box;
    const body = box.querySelector(".rows-body");
    const offset = body ? body.getBoundingClientRect().top - box.getBoundingClientRect().top : 0;
    this.top = Math.max(0, -offset);
    this.height = box.clientHeight;
  }

  /** Bring a row into view. */
  show(index: number): void {
    const box = this.scroller ?? document.querySelector(".scroller");
    if (!box) return;
    this.measure(box);
    const head = box.querySelector(".rows-body")?.getBoundingClientRect().top ?? 0;
    const y = head - box.getBoundingClientRect().top + index * this.row;
    if (y < this.row) box.scrollTop += y - this.row;
    else if (y > box.clientHeight - 2 * this.row) box.scrollTop += y - box.clientHeight + 2 * this.row;
  }

  view(items: readonly T[]): TemplateResult {
    const shown = windowOf(items.length, this.row, this.top, this.height);
    if (shown.to >= items.length - SPARE) queueMicrotask(this.atEnd);
    return html`<div class="rows-body" role=${this.role}>
      <div class="gap" .style=${`height:${shown.before}px`}></div>
      ${items.slice(shown.from, shown.to).map((item, i) => this.each(item, shown.from + i))}
      <div class="gap" .style=${`height:${shown.after}px`}></div>
    </div>`;
  }
}
