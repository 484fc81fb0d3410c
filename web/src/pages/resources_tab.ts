// The table of resources. The server filters, orders and pages; the browser draws the rows in view.

import { get, now, stackPath } from "../api/client.ts";
import type { Delta, Member, Members } from "../api/types.ts";
import { refresh } from "../app.ts";
import { go, query, setQuery, stackHref } from "../router.ts";
import { ago, clip, duration, plainReason, plural } from "../view/format.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { empty, pill } from "../view/parts.ts";
import { isUnhealthy, STATES, WORDS } from "../view/states.ts";
import { Rows } from "../view/window.ts";
import type { StackContext, StackTab } from "./tab.ts";

const ROW_PX = 40;
const PAGE = 200;
const DEPTHS: [value: string, words: string][] = [["", "this stack"], ["1", "one level inside"], ["2", "two levels inside"], ["3", "three levels inside"], ["all", "all nested stacks"]];

export class ResourcesTab implements StackTab {
  private readonly first: Loader<Members>;
  private rows: Member[] = [];
  private places = new Map<string, number>();
  private next: string | null = null;
  private more = false;
  private asked = "";
  private at = -1;
  private typing = 0;
  private readonly window = new Rows<Member>(() => ROW_PX, (row, i) => this.row(row, i), () => void this.further());

  constructor(private readonly of: StackContext) {
    this.asked = this.key_();
    this.first = new Loader<Members>("the resources", (signal) => get(stackPath(of.name, of.id, "/members"), this.filters(), signal), (found) => {
      this.rows = found.members;
      this.next = found.next;
      this.placed();
    });
    void this.first.load();
  }

  private filters(): Record<string, string | string[] | number | boolean | undefined> {
    return {
      box: query("box") || undefined,
      state: query("state") ? [query("state")] : [],
      type: query("type") || undefined,
      search: query("q") || undefined,
      tree: query("depth") === "all",
      depth: Number(query("depth")) || undefined,
      order: query("order") || "attention",
      limit: PAGE,
    };
  }

  private key_(): string {
    return JSON.stringify(this.filters());
  }

  private placed(): void {
    this.places = new Map(this.rows.map((row, i) => [row.id, i]));
  }

  moved(): void {
    if (this.key_() === this.asked) return;
    this.asked = this.key_();
    this.at = -1;
    void this.first.load();
  }

  leave(): void {
    this.first.stop();
  }

  again(): void {
    if (this.rows.length <= PAGE) this.first.soon(2000);
  }

  delta(delta: Delta): void {
    let unknown = delta.total !== this.of.summary()?.total;
    for (const [id, , state, since] of delta.nodes) {
      const row = this.rows[this.places.get(id) ?? -1];
      if (row) Object.assign(row, { state, since, reason: row.state === state ? row.reason : "" });
      else unknown = true;
    }
    // Reasons are not in a delta: they are read with the page of rows.
    if (unknown || delta.nodes.length) this.again();
  }

  private async further(): Promise<void> {
    if (!this.next || this.more) return;
    this.more = true;
    try {
      const found = await get<Members>(stackPath(this.of.name, this.of.id, "/members"), { ...this.filters(), marker: this.next });
      this.rows = [...this.rows, ...found.members.filter((row) => !this.places.has(row.id))];
      this.next = found.next;
      this.placed();
    } finally {
      this.more = false;
      refresh();
    }
  }

  key(event: KeyboardEvent): boolean {
    if (event.key !== "j" && event.key !== "k") return false;
    this.at = Math.max(0, Math.min(this.rows.length - 1, this.at + (event.key === "j" ? 1 : -1)));
    this.window.show(this.at);
    requestAnimationFrame(() => document.getElementById(`row-${this.at}`)?.focus());
    refresh();
    return true;
  }

  view(): unknown {
    return html`<div class="scroller tab-scroll" @scroll=${this.window.scrolled}><div class="tab-inner">
      <section class="card list-card">
        <div class="card-tools">
          <input class="input" id="search" type="search" placeholder="Part of the name" aria-label="Search by name" .value=${query("q")} @input=${(event: Event) => this.typed("q", event)}>
          <input class="input" type="search" placeholder="Part of the type" aria-label="Search by type" .value=${query("type")} @input=${(event: Event) => this.typed("type", event)}>
          <label class="select">Show <select @change=${(event: Event) => setQuery({ state: (event.target as HTMLSelectElement).value })}>
            <option value="" ?selected=${!query("state")}>all states</option>
            ${STATES.map((state) => html`<option value=${state} ?selected=${query("state") === state}>${WORDS[state]}</option>`)}</select></label>
          <label class="select">Order <select @change=${(event: Event) => setQuery({ order: (event.target as HTMLSelectElement).value })}>
            <option value="" ?selected=${!query("order")}>needs attention first</option><option value="name" ?selected=${query("order") === "name"}>by name</option></select></label>
          ${this.of.summary()?.tree ? html`<label class="select">Depth <select @change=${(event: Event) => setQuery({ depth: (event.target as HTMLSelectElement).value })}>
            ${DEPTHS.map(([value, words]) => html`<option value=${value} ?selected=${query("depth") === value}>${words}</option>`)}</select></label>` : nothing}
          <span class="grow"></span>
          <span class="muted">${this.next ? `${plural(this.rows.length, "resource")} read` : plural(this.rows.length, "resource")}</span>
        </div>
        ${query("box") ? html`<p class="note muted">The members of one group. <button class="link" @click=${() => setQuery({ box: "" })}>Show all resources</button></p>` : nothing}
        ${this.first.view(() => (this.rows.length ? this.table() : empty("No resource fits", "Change the filter or the search.")))}
      </section></div></div>`;
  }

  private typed(name: string, event: Event): void {
    const text = (event.target as HTMLInputElement).value;
    window.clearTimeout(this.typing);
    this.typing = window.setTimeout(() => setQuery({ [name]: text.trim() }), 200);
  }

  private table(): unknown {
    return html`<div class="rows resource-rows" role="table" aria-label="Resources">
      <div role="rowgroup"><div class="row head" role="row">${["name", "type", "state", "since", "reason"].map((word) => html`<span role="columnheader" class="r-${word}">${word}</span>`)}</div></div>
      ${this.window.view(this.rows)}</div>`;
  }

  private row(row: Member, i: number): unknown {
    const inside = row.stack.id !== this.of.id;
    const runs = row.state === "RUNNING" || row.state === "WAITING";
    const select = (): void => (inside ? go(stackHref(row.stack.name, row.stack.id, "resources", { r: row.name })) : setQuery({ r: row.name }));
    return html`<div class="row ${row.name === query("r") && !inside ? "selected" : ""} ${row.state === "FAILED" ? "bad" : ""}" role="row" @click=${select}>
      <span role="cell" class="r-name"><button class="link" id="row-${i}" @click=${(event: Event) => {
        event.stopPropagation();
        select();
      }}>${clip(row.name, 200)}</button>${inside ? html`<span class="muted"> in ${row.stack.path.join(" / ") || row.stack.name}</span>` : nothing}
        ${row.stack_id ? html`<a class="small" href=${stackHref(row.stack_name ?? row.name, row.stack_id)} @click=${(event: Event) => event.stopPropagation()}>open</a>` : nothing}</span>
      <span role="cell" class="r-type mono">${row.type}</span>
      <span role="cell" class="r-state">${isUnhealthy(row) ? pill("FAILED", "unhealthy") : row.drift === "drifted" || row.drift === "gone" ? pill("DRIFTED", row.drift) : pill(row.state, row.unwanted && row.state !== "DONE" ? `${WORDS[row.state]}, to be deleted` : WORDS[row.state])}</span>
      <span role="cell" class="r-since muted num">${row.since ? (runs ? duration(Math.max(1, Math.floor(now() - row.since))) : ago(row.since, now())) : ""}</span>
      <span role="cell" class="r-reason ${row.state === "FAILED" || isUnhealthy(row) ? "error-text" : "muted"}" title=${clip(row.reason, 400)}>${clip(plainReason(row.reason), 200)}</span>
    </div>`;
  }
}
