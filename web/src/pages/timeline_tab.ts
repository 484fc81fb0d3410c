// Operations at the left, the timeline of one of them at the right. Zoom of the time axis alone.

import { get, now, stackPath } from "../api/client.ts";
import type { Delta, Operation, Timeline } from "../api/types.ts";
import { refresh } from "../app.ts";
import { query, setQuery } from "../router.ts";
import { axis, line, scaleOf } from "../timeline/gantt.ts";
import { rangeOf, rowsOf, type TimeRow } from "../timeline/rows.ts";
import type { Scale } from "../timeline/scale.ts";
import { ago, count, duration, moment, plainReason } from "../view/format.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { empty } from "../view/parts.ts";
import { icon, type Tone } from "../view/states.ts";
import { Rows } from "../view/window.ts";
import { hasEnded, type StackContext, type StackTab } from "./tab.ts";

const ROW_PX = 26;
const NEAREST_S = 0.5;

export class TimelineTab implements StackTab {
  private readonly operations: Loader<Operation[]>;
  private readonly timeline: Loader<Timeline>;
  private chosen = query("op");
  private zoom: [number, number] | null = null;
  private scale: Scale | null = null;
  private ticking = 0;
  private readonly window = new Rows<TimeRow>(() => ROW_PX, (row) => line(row, this.scale as Scale, this.timeline.data?.operation.began ?? 0), undefined, "group");

  constructor(of: StackContext) {
    this.operations = new Loader<Operation[]>("the operations", async (signal) => (await get<{ operations: Operation[] }>(stackPath(of.name, of.id, "/operations"), { limit: 50 }, signal)).operations, (found) => {
      if (!this.chosen && found[0] && this.timeline.data?.operation.id !== found[0].id) void this.timeline.load();
    });
    this.timeline = new Loader<Timeline>("the timeline", async (signal) => {
      const id = this.chosen || this.operations.data?.[0]?.id || "";
      return (await get<{ timeline: Timeline }>(stackPath(of.name, of.id, `/operations/${encodeURIComponent(id)}/timeline`), {}, signal)).timeline;
    });
    void this.operations.load();
    if (this.chosen) void this.timeline.load();
    this.ticking = window.setInterval(() => {
      if (this.timeline.data?.operation.running && !document.hidden) refresh();
    }, 1000);
  }

  moved(): void {
    if (query("op") === this.chosen) return;
    this.chosen = query("op");
    this.zoom = null;
    this.timeline.data = null;
    void this.timeline.load();
  }

  leave(): void {
    this.operations.stop();
    this.timeline.stop();
    window.clearInterval(this.ticking);
  }

  again(): void {
    this.operations.soon(300);
    if (this.timeline.data) this.timeline.seldom(300);
  }

  delta(delta: Delta): void {
    if (this.timeline.data?.operation.running) {
      if (hasEnded(delta)) this.timeline.soon();
      else this.timeline.seldom(2000);
    }
    this.operations.soon(3000);
  }

  view(): unknown {
    return html`<div class="timeline-page">
      <nav class="operations" aria-label="Operations">${this.operations.view((list) => list.map((one) => this.operation(one)))}</nav>
      <div class="scroller tab-scroll" @scroll=${this.window.scrolled}><div class="tab-inner">
        ${this.operations.data?.length === 0 ? empty("No operation yet", "") : this.timeline.view((found) => this.draw(found))}</div></div>
    </div>`;
  }

  private operation(one: Operation): unknown {
    const current = (this.timeline.data?.operation.id ?? this.chosen) === one.id;
    const tone: Tone = one.running ? "RUNNING" : one.state === "FAILED" ? "FAILED" : one.state === "SUPERSEDED" ? "SKIPPED" : "DONE";
    const words = one.action.charAt(0) + one.action.slice(1).toLowerCase();
    return html`<button class="operation ${current ? "current" : ""}" aria-current=${current ? "true" : "false"} @click=${() => setQuery({ op: one.id }, false)}>
      ${icon(tone)}<span><b>${words}</b> <span class="muted">${generationWords(one)}</span>
      <span class="muted block">${one.running ? "under way" : one.state === "SUPERSEDED" ? "superseded" : one.cancelled ? "cancelled" : one.state.toLowerCase()}${
        one.began && one.ended ? `, ${duration(one.ended - one.began)}` : ""}${one.ended ? `, ${ago(one.ended, now())}` : ""}</span></span></button>`;
  }

  private draw(found: Timeline): unknown {
    const at = now();
    const rows = rowsOf(found, at);
    if (!rows.length) return html`<section class="card">${empty("No resource was touched", found.partial ? "Events of this operation have been dropped." : "This operation had nothing to do.")}</section>`;
    this.scale = scaleOf(found, rows, at, this.zoom);
    const zero = found.operation.began ?? this.scale.from;
    const whole = rangeOf(found, rows, at);
    return html`<section class="card gantt-card" @keydown=${(event: KeyboardEvent) => this.keys(event, whole)}>
      <div class="card-head pad">
        <h2>${found.operation.action.charAt(0) + found.operation.action.slice(1).toLowerCase()}, ${generationWords(found.operation)}</h2>
        <span class="muted small">Ringed: the critical path${found.critical.length > 1 ? `, ${count(found.critical.length)} steps` : ""}.
          ${found.left_out ? `${count(found.left_out)} resources are grouped.` : ""} ${found.partial ? "Old events were dropped: parts may be missing." : ""}</span>
        <span class="grow"></span>
        <button class="button square" aria-label="Zoom out" ?disabled=${!this.zoom} @click=${() => this.zoomBy(2, whole)}>−</button>
        <button class="button square" aria-label="Zoom in" @click=${() => this.zoomBy(0.5, whole)}>+</button>
        <button class="button square" aria-label="Earlier" ?disabled=${!this.zoom} @click=${() => this.move(-0.4, whole)}>‹</button>
        <button class="button square" aria-label="Later" ?disabled=${!this.zoom} @click=${() => this.move(0.4, whole)}>›</button>
        <button class="button" ?disabled=${!this.zoom} @click=${() => this.setZoom(null)}>All</button>
      </div>
      <div class="gantt tall">${axis(this.scale, zero, found.operation.running && !this.zoom)}${this.window.view(rows)}</div>
      ${found.operation.failure ? html`<p class="note error-text wrap">${found.operation.failure.resource ?? "The operation"} failed first: ${plainReason(found.operation.failure.reason).slice(0, 400)}</p>` : nothing}
    </section>`;
  }

  private keys(event: KeyboardEvent, whole: [number, number]): void {
    if (event.key === "+") this.zoomBy(0.5, whole);
    else if (event.key === "-") this.zoomBy(2, whole);
    else if (event.key === "ArrowLeft" && this.zoom) this.move(-0.2, whole);
    else if (event.key === "ArrowRight" && this.zoom) this.move(0.2, whole);
  }

  private zoomBy(factor: number, whole: [number, number]): void {
    const [from, to] = this.zoom ?? whole;
    const middle = (from + to) / 2;
    const half = Math.max(NEAREST_S, ((to - from) * factor) / 2);
    const zoom: [number, number] = [Math.max(whole[0], middle - half), Math.min(whole[1], middle + half)];
    this.setZoom(zoom[1] - zoom[0] >= (whole[1] - whole[0]) * 0.98 ? null : zoom);
  }

  private move(share: number, whole: [number, number]): void {
    if (!this.zoom) return;
    const length = this.zoom[1] - this.zoom[0];
    const from = Math.min(whole[1] - length, Math.max(whole[0], this.zoom[0] + share * length));
    this.setZoom([from, from + length]);
  }

  private setZoom(zoom: [number, number] | null): void {
    this.zoom = zoom;
    refresh();
  }
}

/** Name an operation by its generation, or by its time where the service has forgotten that. */
function generationWords(one: Operation): string {
  return one.generation === null ? (one.began ? moment(one.began, now()) : "") : `generation ${one.generation}`;
}
