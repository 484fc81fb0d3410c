// Events, newest first, 200 at a time. While the reader has scrolled away, new ones are counted and not put in.

import { get, now, stackPath } from "../api/client.ts";
import type { Delta, Event, Operation } from "../api/types.ts";
import { refresh } from "../app.ts";
import { query, setQuery, stackHref } from "../router.ts";
import { narrow } from "../theme.ts";
import { show } from "../view/dialog.ts";
import { clip, cut, moment, plainReason, plural, seconds } from "../view/format.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { empty, statusPill } from "../view/parts.ts";
import { ofStatus } from "../view/states.ts";
import { Rows } from "../view/window.ts";
import type { StackContext, StackTab } from "./tab.ts";

const row = (): number => (narrow.matches ? 84 : 40);
const PAGE = 200;

export class EventsTab implements StackTab {
  private readonly newest: Loader<Event[]>;
  private readonly operations: Loader<Operation[]>;
  private events: Event[] = [];
  private held: Event[] = [];
  private ended = false;
  private more = false;
  private asked = "";
  private away = false;
  private typing = 0;
  private readonly window = new Rows<Event>(row, (event) => this.row(event), () => void this.older());

  constructor(private readonly of: StackContext) {
    this.asked = JSON.stringify(this.filters());
    this.newest = new Loader<Event[]>("the events", async (signal) => (await get<{ events: Event[] }>(stackPath(of.name, of.id, "/events"), { ...this.filters(), limit: PAGE }, signal)).events, (found) => this.got(found));
    this.operations = new Loader<Operation[]>("the operations", async (signal) => (await get<{ operations: Operation[] }>(stackPath(of.name, of.id, "/operations"), { limit: 50 }, signal)).operations);
    void this.newest.load();
    void this.operations.load();
  }

  /** Choose the events of one operation; one that is not listed any more can still be in the address. */
  private chooser(): unknown {
    const list = this.operations.data ?? [];
    const chosen = query("op");
    if (list.length < 2 && !chosen) return nothing;
    return html`<label class="select">Operation <select @change=${(event: globalThis.Event) => setQuery({ op: (event.target as HTMLSelectElement).value })}>
      <option value="" ?selected=${!chosen}>any</option>
      ${chosen && !list.some((one) => one.id === chosen) ? html`<option value=${chosen} selected>an older one</option>` : nothing}
      ${list.map((one) => html`<option value=${one.id} ?selected=${chosen === one.id}>${one.action.toLowerCase()}, ${one.generation === null ? (one.began ? moment(one.began, now()) : "") : `generation ${one.generation}`}</option>`)}</select></label>`;
  }

  private filters(): Record<string, string | undefined> {
    return { sort_keys: "event_time", sort_dir: "desc", resource_name: query("name") || undefined, resource_status: query("status") || undefined, operation_id: query("op") || undefined, nested_depth: query("tree") === "1" ? "5" : undefined };
  }

  private got(found: Event[]): void {
    const known = new Set(this.events.map((event) => event.id));
    const fresh = found.filter((event) => !known.has(event.id));
    if (!this.events.length) {
      this.events = found;
      this.ended = found.length < PAGE;
    } else if (fresh.length === found.length && found.length === PAGE) {
      // A gap: more happened than one page holds.
      this.events = found;
      this.held = [];
      this.ended = false;
    } else if (this.away) this.held = fresh;
    else this.events = [...fresh, ...this.events];
  }

  private async older(): Promise<void> {
    const last = this.events[this.events.length - 1];
    if (this.ended || this.more || !last) return;
    this.more = true;
    try {
      const found = await get<{ events: Event[] }>(stackPath(this.of.name, this.of.id, "/events"), { ...this.filters(), limit: PAGE, marker: String(last.id) });
      this.events = [...this.events, ...found.events];
      this.ended = found.events.length < PAGE;
    } finally {
      this.more = false;
      refresh();
    }
  }

  moved(): void {
    if (JSON.stringify(this.filters()) === this.asked) return;
    this.asked = JSON.stringify(this.filters());
    this.events = [];
    this.held = [];
    void this.newest.load();
  }

  leave(): void {
    this.newest.stop();
    this.operations.stop();
  }

  again(): void {
    this.newest.soon(500);
  }

  delta(delta: Delta): void {
    if (delta.events) this.newest.soon(500);
    if (delta.operation) this.operations.soon(1000);
  }

  view(): unknown {
    return html`<div class="scroller tab-scroll" @scroll=${(event: globalThis.Event) => {
      this.window.scrolled(event);
      this.away = (event.currentTarget as HTMLElement).scrollTop > 80;
      if (!this.away && this.held.length) this.release();
    }}><div class="tab-inner">
      <section class="card list-card">
        <div class="card-tools">
          <input class="input" id="search" type="search" placeholder="Name of a resource" aria-label="Show events of one resource" .value=${query("name")} @input=${(event: globalThis.Event) => {
            const text = (event.target as HTMLInputElement).value;
            window.clearTimeout(this.typing);
            this.typing = window.setTimeout(() => setQuery({ name: text.trim() }), 300);
          }}>
          <label class="select">Show <select @change=${(event: globalThis.Event) => setQuery({ status: (event.target as HTMLSelectElement).value })}>
            ${[["", "all events"], ["FAILED", "failed"], ["COMPLETE", "complete"], ["IN_PROGRESS", "in progress"]].map(([value, words]) => html`<option value=${value} ?selected=${query("status") === value}>${words}</option>`)}</select></label>
          ${this.chooser()}
          ${this.of.summary()?.tree ? html`<label class="check"><input type="checkbox" ?checked=${query("tree") === "1"} @change=${(event: globalThis.Event) => setQuery({ tree: (event.target as HTMLInputElement).checked ? "1" : "" })}> with nested stacks</label>` : nothing}
          <span class="grow"></span><span class="muted">newest first</span>
        </div>
        ${this.first()}
        ${this.newest.view(() => (this.events.length ? html`<div class="rows event-rows" role="table" aria-label="Events">
          <div role="rowgroup"><div class="row head" role="row">${["time", "resource", "what", "reason"].map((word) => html`<span role="columnheader" class="e-${word}">${word}</span>`)}</div></div>
          ${this.window.view(this.events)}</div>` : empty("No event fits", "Change the filter.")))}
      </section></div>
      ${this.held.length ? html`<button class="fresh" @click=${() => this.release()}>${plural(this.held.length, "new event")}</button>` : nothing}
    </div>`;
  }

  /** The first failure of the newest operation, on top of its followers. */
  private first(): unknown {
    const failure = this.of.summary()?.operation?.failure;
    if (!failure) return nothing;
    return html`<div class="first-failure"><span class="error-text"><b>First failure:</b>
      ${failure.resource ? html`<button class="link" @click=${() => setQuery({ r: failure.resource ?? "" })}>${failure.resource}</button>` : nothing}</span>
      <span class="wrap">${clip(plainReason(failure.reason), 300)}</span><span class="muted num">${failure.at ? moment(failure.at, now()) : ""}</span></div>`;
  }

  private release(): void {
    this.events = [...this.held, ...this.events];
    this.held = [];
    this.away = false;
    const box = document.querySelector(".tab-scroll");
    if (box) box.scrollTop = 0;
    refresh();
  }

  private row(event: Event): unknown {
    const at = seconds(event.event_time);
    const reason = event.resource_status_reason ?? "";
    const stack = event.links?.find((link) => link.rel === "stack")?.href.split("/").slice(-2) ?? [];
    const inside = stack[1] !== undefined && stack[1] !== this.of.id;
    const own = event.physical_resource_id === this.of.id;
    return html`<div class="row ${event.resource_status.endsWith("_FAILED") ? "bad" : ""}" role="row">
      <span role="cell" class="e-time muted num">${at === null ? "" : moment(at, now())}</span>
      <span role="cell" class="e-resource">${own ? html`<b>the stack</b>`
        : inside ? html`<a href=${stackHref(stack[0] ?? "", stack[1] ?? "", "events", { r: event.resource_name })}>${clip(event.resource_name, 120)}</a>`
        : html`<button class="link" @click=${() => setQuery({ r: event.resource_name })}>${clip(event.resource_name, 120)}</button>`}</span>
      <span role="cell" class="e-what">${statusPill(event.resource_status)}</span>
      <span role="cell" class="e-reason">${reason.length > 120 ? html`<button class="link small" @click=${() => show({ title: `${event.resource_name}, ${statusWords(event)}`, content: () => html`<p class="wrap mono">${cut(reason, 50_000)}</p>` })}>All of it</button> ` : nothing}${reason === "state changed" ? "" : clip(plainReason(reason), 200)}</span>
    </div>`;
  }
}

function statusWords(event: Event): string {
  return ofStatus(event.resource_status).words.toLowerCase();
}
