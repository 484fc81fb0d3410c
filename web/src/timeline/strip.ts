// The strip below the graph: the timeline of the newest operation, in a few lines.

import { get, now, stackPath } from "../api/client.ts";
import type { Delta, Operation, Timeline } from "../api/types.ts";
import { refresh } from "../app.ts";
import { stackHref } from "../router.ts";
import { hasEnded, type StackContext } from "../pages/tab.ts";
import { count } from "../view/format.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { axis, line, scaleOf } from "./gantt.ts";
import { important, rowsOf } from "./rows.ts";

const LINES = 5;
const EVERY_MS = 2500;

export class Strip {
  private readonly timeline: Loader<Timeline | null>;
  private ticking = 0;
  private folded = false;

  constructor(private readonly of: StackContext) {
    this.timeline = new Loader<Timeline | null>("the timeline", async (signal) => {
      const operation = await this.operation(signal);
      if (!operation) return null;
      const found = await get<{ timeline: Timeline }>(stackPath(of.name, of.id, `/operations/${operation.id}/timeline`), { limit: 100 }, signal);
      return found.timeline;
    });
    void this.timeline.load();
    this.ticking = window.setInterval(() => {
      if (this.timeline.data?.operation.running && !document.hidden) refresh();
    }, 1000);
  }

  private async operation(signal: AbortSignal): Promise<Operation | null> {
    const known = this.of.summary()?.operation;
    if (known) return known;
    const found = await get<{ operations: Operation[] }>(stackPath(this.of.name, this.of.id, "/operations"), { limit: 1 }, signal);
    return found.operations[0] ?? null;
  }

  delta(delta: Delta): void {
    if (hasEnded(delta)) this.timeline.soon();
    else this.timeline.seldom(EVERY_MS);
  }

  again(): void {
    this.timeline.seldom(EVERY_MS);
  }

  leave(): void {
    this.timeline.stop();
    window.clearInterval(this.ticking);
  }

  view(): unknown {
    const timeline = this.timeline.data;
    if (!timeline || !timeline.spans.length) return nothing;
    const at = now();
    const all = rowsOf(timeline, at);
    const rows = important(all, LINES);
    const on = scaleOf(timeline, rows, at, null);
    const zero = timeline.operation.began ?? on.from;
    return html`<section class="strip-card" aria-label="Timeline of this operation">
      <div class="card-head">
        <h2>${timeline.operation.running ? "This operation" : "The last operation"}</h2>
        <span class="muted small">${this.words(timeline, all.length - rows.length)}</span><span class="grow"></span>
        <button class="link small" aria-expanded=${String(!this.folded)} @click=${() => {
          this.folded = !this.folded;
          refresh();
        }}>${this.folded ? "Show" : "Hide"}</button>
        <a class="small" href=${stackHref(this.of.name, this.of.id, "timeline")}>Open timeline</a>
      </div>
      ${this.folded ? nothing : html`<div class="gantt">${axis(on, zero, timeline.operation.running)}${rows.map((row) => line(row, on, zero))}</div>`}
    </section>`;
  }

  private words(timeline: Timeline, more: number): string {
    const path = timeline.critical.length > 1 ? "Ringed: the critical path." : "";
    return `${path}${more + timeline.left_out > 0 ? ` ${count(more + timeline.left_out)} more in the timeline.` : ""}`.trim();
  }
}
