// The list of stacks: five counts that are filters, search, and rows in the order in which they need attention.

import { address, get, now } from "../api/client.ts";
import { Live } from "../api/live.ts";
import type { Group, Row, Summaries } from "../api/types.ts";
import { app, refresh, speak, type Page } from "../app.ts";
import { go, HOME, query, setQuery, stackHref } from "../router.ts";
import { narrow } from "../theme.ts";
import { short } from "../view/bar.ts";
import { ago, clip, count, duration, plural } from "../view/format.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { driftPill, empty, statusPill, pill } from "../view/parts.ts";
import { icon, type Tone } from "../view/states.ts";
import { Rows } from "../view/window.ts";

const TILES: [Group, Tone, string][] = [
  ["at_work", "RUNNING", "at work"],
  ["failed", "FAILED", "failed"],
  ["drift", "DRIFTED", "with drift"],
  ["waits", "WAITING", "waits for you"],
  ["in_order", "DONE", "in order"],
];
const row = (): number => (narrow.matches ? 98 : 52);
const PAGE = 100;

export class StacksPage implements Page {
  private readonly list: Loader<Summaries>;
  private readonly live: Live;
  private rows: Row[] = [];
  private next: string | null = null;
  private more = false;
  private asked = "";
  private at = -1;
  private typing = 0;
  private readonly window = new Rows<Row>(row, (row, i) => this.row(row, i), () => void this.further());

  constructor() {
    this.list = new Loader<Summaries>("the stacks", (signal) => get("/summaries", { ...this.filters(), limit: Math.min(200, Math.max(PAGE, this.rows.length)) }, signal), (found) => this.got(found));
    this.asked = location.search;
    void this.list.load();
    this.live = new Live(address("/events/stream"), {
      message: (event) => event !== "cut" && this.list.soon(2000),
      again: () => this.list.soon(300),
      link: (state) => {
        app.link = state;
        refresh();
      },
    });
  }

  title(): string {
    return "Stacks";
  }

  leave(): void {
    this.live.close();
    this.list.stop();
  }

  moved(): void {
    if (location.search === this.asked) return;
    this.asked = location.search;
    this.rows = [];
    this.at = -1;
    void this.list.load();
  }

  private filters(): Record<string, string | undefined> {
    return { show: query("show") || undefined, search: query("q") || undefined, order: query("order") || undefined, tags: query("tags") || undefined };
  }

  private got(found: Summaries): void {
    const before = this.list.data?.counts.failed ?? 0;
    if (this.rows.length && found.counts.failed > before) speak(`${plural(found.counts.failed, "stack")} failed`);
    // Rows beyond the first page stay as they were read; they are read again when the list is opened again.
    const known = new Set(found.summaries.map((row) => row.stack.id));
    const rest = found.next && this.rows.length > found.summaries.length ? this.rows.slice(found.summaries.length).filter((row) => !known.has(row.stack.id)) : [];
    this.rows = [...found.summaries, ...rest];
    if (!rest.length) this.next = found.next;
  }

  private async further(): Promise<void> {
    if (!this.next || this.more) return;
    this.more = true;
    try {
      const found = await get<Summaries>("/summaries", { ...this.filters(), limit: PAGE, marker: this.next });
      const known = new Set(this.rows.map((row) => row.stack.id));
      this.rows = [...this.rows, ...found.summaries.filter((row) => !known.has(row.stack.id))];
      this.next = found.next;
    } finally {
      this.more = false;
      refresh();
    }
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === "j" || event.key === "k") {
      this.at = Math.max(0, Math.min(this.rows.length - 1, this.at + (event.key === "j" ? 1 : -1)));
      this.window.show(this.at);
      requestAnimationFrame(() => document.getElementById(`row-${this.at}`)?.focus());
      refresh();
      return true;
    }
    return false;
  }

  view(): unknown {
    return html`<div class="page scroller" @scroll=${this.window.scrolled}>
      <div class="page-inner">
        <div class="page-head">
          <h1>Stacks</h1>${this.list.data ? html`<span class="muted">${count(this.list.data.counts.all)} in this project</span>` : nothing}
          <span class="grow"></span>
          <a class="button primary" href=${`${HOME}create`}>Create stack…</a>
        </div>
        ${this.list.view((found) => this.draw(found))}
      </div>
    </div>`;
  }

  private draw(found: Summaries): unknown {
    if (!found.counts.all && !query("q") && !query("show") && !query("tags")) return this.first();
    return html`
      <div class="tiles" role="group" aria-label="Show stacks that are">
        ${TILES.map(([group, tone, words]) => this.tile(group, tone, words, found.counts[group] ?? 0))}
      </div>
      <section class="card list-card" aria-label="Stacks">
        <div class="card-tools">
          <input class="input" type="search" id="search" placeholder="Name, tag or owner" aria-label="Search by name, tag or owner" .value=${query("q")} @input=${(event: Event) => this.search(event)}>
          <label class="select">Order <select @change=${(event: Event) => setQuery({ order: (event.target as HTMLSelectElement).value })}>
            ${[["", "needs attention first"], ["name", "by name"], ["updated", "newest first"]].map(([value, words]) => html`<option value=${value} ?selected=${query("order") === value}>${words}</option>`)}
          </select></label>
          <span class="grow"></span>
          ${query("q") || query("show") || query("tags") ? html`<button class="link" @click=${() => setQuery({ q: "", show: "", tags: "" })}>Show all stacks</button>` : nothing}
        </div>
        ${this.rows.length ? this.table() : empty("No stack fits", "Change the filter or the search.")}
      </section>`;
  }

  private tile(group: Group, tone: Tone, words: string, n: number): unknown {
    const on = query("show") === group;
    return html`<button class="tile ${n ? "" : "zero"}" aria-pressed=${String(on)} @click=${() => setQuery({ show: on ? "" : group })}>
      ${icon(tone)}<b class="num">${count(n)}</b><span class="muted">${words}</span></button>`;
  }

  private search(event: Event): void {
    const text = (event.target as HTMLInputElement).value;
    window.clearTimeout(this.typing);
    this.typing = window.setTimeout(() => setQuery({ q: text.trim() }), 200);
  }

  private table(): unknown {
    return html`<div class="rows stacks-rows" role="table" aria-label="Stacks" aria-rowcount=${String(this.list.data?.counts.all ?? this.rows.length)}>
      <div role="rowgroup"><div class="row head" role="row">${["name", "status", "progress", "drift", "why", "by", "when"].map((word) => html`<span role="columnheader" class="c-${word}">${word}</span>`)}</div></div>
      ${this.window.view(this.rows)}
    </div>`;
  }

  private row(row: Row, i: number): unknown {
    const stack = row.stack;
    const bad = row.group === "failed";
    const href = stackHref(stack.name, stack.id);
    const when = row.group === "at_work" && row.began ? duration(Math.floor(now() - row.began)) : ago(row.ended ?? stack.updated ?? stack.created ?? now(), now());
    return html`<div class="row ${bad ? "bad" : ""}" role="row" aria-rowindex=${String(i + 2)} @click=${(event: Event) => {
      if (!(event.target as Element).closest("a")) go(href);
    }}>
      <span role="cell" class="c-name"><a id="row-${i}" href=${href}>${stack.name}</a></span>
      <span role="cell" class="c-status">${row.hooks ? pill("WAITING", "Waits at a hook") : statusPill(stack.stack_status)}</span>
      <span role="cell" class="c-progress">${short(row.counts, row.total)}</span>
      <span role="cell" class="c-drift">${row.drift.drifted || row.drift.gone ? driftPill(row.drift.drifted, row.drift.gone) : html`<span class="muted">${row.drift.observed === null ? "not looked at" : "in sync"}</span>`}</span>
      <span role="cell" class="c-why ${bad ? "error-text" : ""}" title=${clip(row.why, 400)}>${clip(row.why, 240)}</span>
      <span role="cell" class="c-by muted">${stack.owner}</span>
      <span role="cell" class="c-when muted num">${when}</span>
    </div>`;
  }

  private first(): unknown {
    return html`<section class="card"><div class="empty">
      <h2>No stack yet</h2>
      <p>A stack is a set of resources that a template describes. Isotherm makes them, and keeps them as the template says.</p>
      <div class="center"><a class="button primary" href=${`${HOME}create?sample=chain`}>Start with a sample</a>
      <a class="button" href=${`${HOME}create`}>Use a template of your own</a></div>
    </div></section>`;
  }
}
