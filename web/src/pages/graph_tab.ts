// The graph of a stack: canvases, the tree beside them, the members of an open group, the strip with the timeline.

import { get, stackPath } from "../api/client.ts";
import type { Box, Delta, Graph, Members } from "../api/types.ts";
import { refresh, speak } from "../app.ts";
import { GraphCanvas } from "../graph/canvas.ts";
import { fold, merge } from "../graph/fold.ts";
import { inOrder, stateWords, tree } from "../graph/tree.ts";
import { go, query, setQuery, stackHref } from "../router.ts";
import { narrow } from "../theme.ts";
import { count, plural, shortType } from "../view/format.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { empty } from "../view/parts.ts";
import { icon, STATES, WORDS, type State } from "../view/states.ts";
import { Strip } from "../timeline/strip.ts";
import { hasEnded, type StackContext, type StackTab } from "./tab.ts";

const LEVELS: Record<string, string> = { auto: "automatic", none: "each resource", kind: "by kind", depth_type: "by depth and type", type: "by type" };
const MOST_SINGLE = 40;
const BY: Record<string, string> = { kind: "like resources are one box", depth_type: "grouped by depth and type", type: "grouped by type" };

export class GraphTab implements StackTab {
  private canvas: GraphCanvas | null = null;
  private drawn: Graph | null = null;
  private opened = query("open");
  private grouping = query("group");
  /** What "automatic" means for this stack: like resources are one box as soon as there are many boxes. */
  private automatic = "";
  private focused = "";
  private critical = true;
  private holding: ReadonlySet<string> = new Set();
  private readonly graph: Loader<Graph>;
  private readonly members: Loader<Members>;
  private readonly strip: Strip;

  constructor(private readonly of: StackContext) {
    this.graph = new Loader<Graph>(
      "the graph",
      async (signal) => (await get<{ graph: Graph }>(stackPath(of.name, of.id, "/graph"), { group: this.level() }, signal)).graph,
      (graph) => this.got(graph),
    );
    this.members = new Loader<Members>("the members", (signal) =>
      get(stackPath(of.name, of.id, "/members"), { box: this.opened, order: "attention", limit: 200, group: this.level() }, signal),
    );
    this.strip = new Strip(of);
    void this.graph.load();
  }

  stream(): Record<string, string | string[]> {
    const level = this.level();
    return level ? { group: level } : {};
  }

  private level(): string | undefined {
    return this.grouping || this.automatic || undefined;
  }

  again(): void {
    this.graph.seldom();
    this.strip.again();
    if (this.opened) this.members.soon();
  }

  moved(): void {
    if (query("group") !== this.grouping || query("open") !== this.opened) {
      const regrouped = query("group") !== this.grouping;
      this.grouping = query("group");
      this.opened = query("open");
      if (this.opened) {
        this.members.data = null;
        void this.members.load();
      }
      if (regrouped) void this.graph.load();
      if (regrouped) this.of.streamChanged();
    }
    this.look();
  }

  leave(): void {
    this.canvas?.close();
    this.graph.stop();
    this.members.stop();
    this.strip.leave();
  }

  private got(graph: Graph): void {
    if (!this.level() && graph.level === "none" && graph.boxes.length > MOST_SINGLE) {
      this.automatic = "kind";
      this.of.streamChanged();
      return void this.graph.load();
    }
    this.folded();
    if (this.opened && !graph.boxes.some((box) => box.id === this.opened)) setQuery({ open: "" });
    else if (this.opened && !this.members.data) void this.members.load();
  }

  /** Draw what the server's graph is now. */
  private folded(): void {
    if (!this.graph.data) return;
    this.drawn = fold(this.graph.data);
    this.canvas?.show(this.drawn);
    this.look();
  }

  delta(delta: Delta): void {
    this.strip.delta(delta);
    const graph = this.graph.data;
    if (!graph) return;
    if (delta.generation !== graph.generation) return this.graph.soon(300);
    const failed = delta.nodes.find(([id, , state]) => state === "FAILED" && graph.boxes.some((box) => box.id === id && !box.states.FAILED));
    if (failed) speak(`${failed[1]} failed`);
    if (!merge(graph, delta.boxes, delta.nodes)) this.graph.seldom();
    if (this.opened && delta.nodes.length) this.members.soon(1500);
    this.folded();
    // A path that has moved on is read again now and then: the server finds it.
    if (hasEnded(delta)) this.graph.soon();
    else if (delta.nodes.length) this.graph.seldom(graph.total > 2000 ? 10_000 : 2500);
  }

  private look(): void {
    if (!this.canvas) return;
    const state = query("state") as State | "";
    const selected = this.selectedId();
    Object.assign(this.canvas.look, {
      selected,
      focused: this.focused,
      held: this.holding,
      shown: (box: Box) => !state || (box.states[state] ?? 0) > 0,
    });
    this.canvas.critical(this.critical ? (this.graph.data?.critical ?? []) : []);
  }

  /** The names of resources that wait at hooks, as the head knows them: the graph tells only that they wait. */
  private held(): ReadonlySet<string> {
    const names = (this.of.summary()?.hooks ?? []).map((hook) => hook.resource);
    if (names.length !== this.holding.size || names.some((name) => !this.holding.has(name))) {
      this.holding = new Set(names);
      this.look();
    }
    return this.holding;
  }

  private selectedId(): string {
    const name = query("r");
    return this.opened || (name ? (this.drawn?.boxes.find((box) => box.name === name && box.kind !== "group")?.id ?? "") : "");
  }

  private readonly actions = {
    select: (id: string): void => {
      const box = this.drawn?.boxes.find((one) => one.id === id);
      if (!box) setQuery({ r: "", open: "" });
      else if (box.kind === "group") setQuery({ open: this.opened === id ? "" : id, r: "" });
      else setQuery({ r: box.name, open: "" });
    },
    enter: (id: string): void => {
      const box = this.drawn?.boxes.find((one) => one.id === id);
      if (box?.kind === "stack" && box.stack_id) go(stackHref(box.stack_name ?? box.name, box.stack_id));
      else if (box) this.actions.select(id);
    },
    focus: (id: string): void => {
      if (this.focused === id) return;
      this.focused = id;
      this.look();
      this.canvas?.reveal(id);
      refresh();
    },
  };

  private mount(): void {
    const holder = document.querySelector<HTMLElement>(".graph-canvas");
    if (!holder || this.canvas) return;
    const [below, above] = holder.querySelectorAll("canvas");
    if (!below || !above) return;
    this.canvas = new GraphCanvas(holder, below, above, this.actions);
    this.folded();
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === "+" || event.key === "=") this.canvas?.zoom(1.25);
    else if (event.key === "-") this.canvas?.zoom(0.8);
    else if (event.key === "0") this.canvas?.fit(true);
    else return false;
    return true;
  }

  view(): unknown {
    return this.graph.view((graph) => this.draw(this.drawn ?? graph));
  }

  private draw(graph: Graph): unknown {
    if (!graph.boxes.length) {
      return empty("Nothing in this stack", "The template has no resources, or all of them are deleted.");
    }
    queueMicrotask(() => this.mount());
    const boxes = inOrder(graph);
    const aside = this.opened ? graph.boxes.find((box) => box.id === this.opened) : undefined;
    return html`<div class="graph-page">
      <div class="graph-tools">${this.tools(graph)}</div>
      <div class="graph-stage">
        <div class="graph-canvas" aria-hidden="true"><canvas></canvas><canvas></canvas></div>
        <div class="graph-reader ${narrow.matches ? "" : "aside"}">${tree(graph, boxes, this.focused, this.selectedId(), [this.opened], this.actions, this.held())}</div>
        ${aside ? this.group(aside) : nothing}
      </div>
      ${this.strip.view()}
    </div>`;
  }

  private tools(graph: Graph): unknown {
    const left = graph.left_out;
    const note = left.resources ? `${plural(left.resources, "resource")} more${left.failed ? `, ${count(left.failed)} failed` : ""}` : "";
    return html`
      <label class="select">Group <select @change=${(event: Event) => setQuery({ group: (event.target as HTMLSelectElement).value.replace("auto", ""), open: "" })}>
        ${Object.entries(LEVELS).map(([value, words]) => html`<option value=${value} ?selected=${value === (this.grouping || "auto")}>${words}</option>`)}
      </select></label>
      <label class="select">Show <select @change=${(event: Event) => setQuery({ state: (event.target as HTMLSelectElement).value })}>
        <option value="" ?selected=${!query("state")}>all states</option>
        ${STATES.map((state) => html`<option value=${state} ?selected=${query("state") === state}>${WORDS[state]}</option>`)}
      </select></label>
      <button class="button toggle" aria-pressed=${String(this.critical)} @click=${() => {
        this.critical = !this.critical;
        this.look();
        refresh();
      }}>Critical path</button>
      <span class="muted note">${plural(graph.total, "resource")}${BY[graph.level] && graph.boxes.some((box) => box.kind === "group") ? `, ${BY[graph.level]}` : ""}${note ? `. ${note}` : ""}</span>
      <span class="grow"></span>
      <span class="zoom">
        <button class="button square" aria-label="Smaller" @click=${() => this.canvas?.zoom(0.8)}>−</button>
        <button class="button square" aria-label="Larger" @click=${() => this.canvas?.zoom(1.25)}>+</button>
        <button class="button" @click=${() => this.canvas?.fit(true)}>Fit</button>
      </span>`;
  }

  private group(box: Box): unknown {
    return html`<section class="group-card" aria-label=${`Members of ${box.name}`}>
      <div class="card-head"><h2>${box.name}</h2><span class="muted">${count(box.n)} × ${shortType(box.type)}</span><span class="grow"></span>
        <button class="close" aria-label="Close the group" @click=${() => setQuery({ open: "" })}>✕</button></div>
      <p class="muted small">${stateWords(box)}</p>
      ${this.members.view((found) => html`<div class="member-grid">${found.members.map(
        (one) => html`<button class="member t-${one.state.toLowerCase()}" title=${`${one.name}: ${WORDS[one.state]}`}
          @click=${() => (one.stack_id && one.stack_id !== this.of.id ? go(stackHref(one.stack_name ?? one.name, one.stack_id)) : setQuery({ r: one.name }))}>${icon(one.state, WORDS[one.state])}<span>${one.name}</span></button>`,
      )}</div>
      ${found.next ? html`<p class="muted small">The first ${found.members.length} of ${count(box.n)}.
        <a href=${stackHref(this.of.name, this.of.id, "resources", { box: box.id })}>All of them as a table</a></p>` : nothing}`)}
    </section>`;
  }
}
