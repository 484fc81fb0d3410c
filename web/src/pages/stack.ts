// The page of a stack: the head, the tabs, the stream that keeps both fresh, and the drawer of a resource.

import { address, get, setClock, stackPath } from "../api/client.ts";
import { Live } from "../api/live.ts";
import type { Delta, Operation, Ready, Summary } from "../api/types.ts";
import { app, refresh, speak, type Page } from "../app.ts";
import { query, type Route, type Tab } from "../router.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { ofStatus } from "../view/states.ts";
import { Drawer } from "./drawer.ts";
import { DriftTab } from "./drift_tab.ts";
import { EventsTab } from "./events_tab.ts";
import { GraphTab } from "./graph_tab.ts";
import { head, tabs } from "./head.ts";
import { HistoryTab } from "./history_tab.ts";
import { OutputsTab, ParametersTab } from "./outputs_tab.ts";
import { ResourcesTab } from "./resources_tab.ts";
import { SnapshotsTab } from "./snapshots_tab.ts";
import type { StackContext, StackTab } from "./tab.ts";
import { TemplateTab } from "./template_tab.ts";
import { TimelineTab } from "./timeline_tab.ts";

const MAKERS: Record<Tab, (of: StackContext) => StackTab> = {
  graph: (of) => new GraphTab(of),
  resources: (of) => new ResourcesTab(of),
  timeline: (of) => new TimelineTab(of),
  history: (of) => new HistoryTab(of),
  events: (of) => new EventsTab(of),
  drift: (of) => new DriftTab(of),
  outputs: (of) => new OutputsTab(of),
  parameters: (of) => new ParametersTab(of),
  template: (of) => new TemplateTab(of),
  snapshots: (of) => new SnapshotsTab(of),
};

const LOOK_MS = 5000;

export class StackPage implements Page, StackContext {
  readonly name: string;
  readonly id: string;
  private tabName: Tab;
  private tab: StackTab;
  private readonly info: Loader<Summary>;
  private live: Live | null = null;
  private streamed = "";
  private drawer: Drawer | null = null;
  private status = "";
  private early: Operation | null = null;
  private looking = 0;
  private revealed: Tab | "" = "";

  constructor(route: Extract<Route, { page: "stack" }>) {
    this.name = route.name;
    this.id = route.id;
    this.tabName = route.tab;
    this.info = new Loader<Summary>(
      "the stack",
      async (signal) => (await get<{ summary: Summary }>(stackPath(this.name, this.id, "/summary"), {}, signal)).summary,
      (found) => this.got(found),
    );
    void this.info.load();
    // The stream tells of steps. What ends without one, is seen by looking now and then.
    this.looking = window.setInterval(() => {
      if (!document.hidden && this.info.data?.stack.status === "IN_PROGRESS") this.info.soon(0);
    }, LOOK_MS);
    this.tab = MAKERS[route.tab](this);
    this.openDrawer();
    this.streamChanged();
  }

  title(): string {
    return this.name;
  }

  summary(): Summary | null {
    return this.info.data;
  }

  again(): void {
    this.info.soon(200);
    this.drawer?.again();
  }

  /** The route is still of this stack: change the tab if need be. */
  show(tab: Tab): void {
    if (tab !== this.tabName) {
      this.tab.leave();
      this.tabName = tab;
      this.tab = MAKERS[tab](this);
      this.streamChanged();
    }
    this.moved();
  }

  moved(): void {
    this.openDrawer();
    this.tab.moved?.();
  }

  leave(): void {
    window.clearInterval(this.looking);
    this.live?.close();
    this.info.stop();
    this.tab.leave();
    this.drawer?.leave();
  }

  key(event: KeyboardEvent): boolean {
    return this.tab.key?.(event) ?? false;
  }

  private openDrawer(): void {
    const name = query("r");
    if (this.drawer?.resource === name) return;
    this.drawer?.leave();
    this.drawer = name ? new Drawer(this, name) : null;
  }

  private got(found: Summary): void {
    setClock(found.now);
    const words = ofStatus(found.stack.stack_status).words;
    if (this.status && this.status !== words) speak(`${found.stack.name}: ${words}`);
    this.status = words;
    // What a delta told before the head was known, and the head does not have yet.
    if (this.early && (this.early.id !== found.operation?.id || this.early.state !== found.operation.state)) this.everything();
    this.early = null;
  }

  streamChanged(): void {
    const url = address(stackPath(this.name, this.id, "/live"), this.tab.stream?.() ?? { boxes: "false" });
    if (url === this.streamed) return;
    this.live?.close();
    this.streamed = url;
    this.live = new Live(url, {
      message: (event, data) => this.message(event, data),
      link: (state) => {
        if (app.link !== state) refresh();
        app.link = state;
      },
      again: () => this.everything(),
    });
  }

  private everything(): void {
    this.info.seldom(1000);
    this.tab.again();
    this.drawer?.again();
  }

  private message(event: string, data: unknown): void {
    if (event === "ready") {
      const ready = data as Ready;
      setClock(ready.now);
      if (this.info.data && ready.last_event_id !== this.info.data.last_event_id) this.everything();
    } else if (event === "delta") this.delta(data as Delta);
    else if (event === "resync") this.everything();
  }

  private delta(delta: Delta): void {
    performance.mark("isotherm-delta-begin");
    const known = this.info.data;
    let news = true;
    if (known) {
      this.operation(known, delta);
      news = known.events !== delta.events || JSON.stringify(known.counts) !== JSON.stringify(delta.counts);
      Object.assign(known, { counts: delta.counts, total: delta.total, events: delta.events });
    } else if (delta.operation) {
      this.early = delta.operation;
      delete delta.operation;
    }
    // The head has more than the delta tells: what may be done, hooks, drift. It is read again when something ended.
    if (delta.operation) this.info.soon(400);
    else if (news) this.info.seldom(2000);
    this.tab.delta?.(delta);
    if (delta.nodes.length) this.drawer?.again();
    refresh();
    performance.measure("isotherm-delta", "isotherm-delta-begin");
    performance.clearMarks("isotherm-delta-begin");
  }

  /** Take over the operation of a delta. The first delta of a stream has one that is known already: that is no news. */
  private operation(known: Summary, delta: Delta): void {
    const [before, after] = [known.operation, delta.operation];
    if (!after) return;
    const same = before?.id === after.id && before.state === after.state && before.cancelled === after.cancelled;
    // The failure of a summary has its resource and its place.
    known.operation = { ...after, failure: (same && before.failure) || after.failure };
    if (same) delete delta.operation;
  }

  /** Scroll the row of tabs to the one that is shown: on a narrow screen it may be outside. */
  private revealTab(): void {
    if (this.revealed === this.tabName) return;
    this.revealed = this.tabName;
    queueMicrotask(() => document.getElementById(`tab-${this.tabName}`)?.scrollIntoView({ block: "nearest", inline: "center" }));
  }

  view(): unknown {
    if (this.info.data) this.revealTab();
    return this.info.view(
      (summary) => html`<div class="stack-page ${this.drawer ? "with-drawer" : ""}">
        ${head(summary, this)}
        ${tabs(summary, this.tabName)}
        <div class="stack-body">
          <div class="tab-body" role="tabpanel" id="tabpanel" aria-labelledby=${`tab-${this.tabName}`} tabindex="-1">${this.tab.view()}</div>
          ${this.drawer ? this.drawer.view() : nothing}
        </div>
      </div>`,
      this.name,
    );
  }
}
