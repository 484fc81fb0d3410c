// The service for operators: is it well, and who holds what.

import { get, now, setClock } from "../api/client.ts";
import type { Load } from "../api/types.ts";
import { app, refresh, type Page } from "../app.ts";
import { stackHref } from "../router.ts";
import { ago, clip, count, duration, plural } from "../view/format.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { empty, pill, statusPill } from "../view/parts.ts";
import { counted, icon, STATES } from "../view/states.ts";

const EVERY_MS = 3000;
const KINDS = { ENGINE: "engine", API: "API", OBSERVER: "observer" };
const SOON_S = 10;

export class ServicePage implements Page {
  private readonly load: Loader<Load>;
  private timer = 0;

  constructor() {
    this.load = new Loader<Load>("the service", async (signal) => (await get<{ load: Load }>("/load", {}, signal)).load, (found) => setClock(found.now));
    void this.load.load();
    app.link = "";
    this.timer = window.setInterval(() => {
      if (!document.hidden) void this.load.load();
    }, EVERY_MS);
  }

  title(): string {
    return "Service";
  }

  leave(): void {
    window.clearInterval(this.timer);
    this.load.stop();
  }

  again(): void {
    refresh();
  }

  view(): unknown {
    return html`<div class="page scroller"><div class="page-inner"><div class="page-head"><h1>Service</h1>${this.load.data ? this.well(this.load.data) : nothing}</div>
      ${this.load.view((load) => this.draw(load))}</div></div>`;
  }

  private well(load: Load): unknown {
    const down = load.services.filter((one) => !one.up);
    const engines = load.services.filter((one) => one.kind === "ENGINE" && one.up);
    if (!engines.length) return pill("FAILED", "No engine is up: nothing is begun");
    if (down.length) return pill("DRIFTED", `${plural(down.length, "process", "processes")} down`);
    return pill("DONE", "Everything is up");
  }

  private draw(load: Load): unknown {
    return html`
      <div class="tiles" role="group" aria-label="Work">
        ${STATES.filter((state) => ["RUNNING", "WAITING", "PENDING", "FAILED"].includes(state) && (load.nodes[state] ?? 0) > 0).map((state) => html`<div class="tile still">${icon(state)}<b class="num">${count(load.nodes[state] ?? 0)}</b><span class="muted">${counted(state, load.nodes[state] ?? 0)}</span></div>`)}
        <div class="tile still"><b class="num">${count(load.queue)}</b><span class="muted">ready and not begun</span></div>
        <div class="tile still"><b class="num">${load.oldest_s === null ? "0 s" : duration(load.oldest_s)}</b><span class="muted">oldest of them waits</span></div>
        <div class="tile still"><b class="num">${count(load.at_work.length)}</b><span class="muted">stacks at work</span></div>
      </div>
      <section class="card"><div class="card-head pad"><h2>Processes</h2></div>
        ${load.services.length ? html`<div class="table-scroll" tabindex="0" role="region" aria-label="Processes"><table class="table"><thead><tr><th>process</th><th>state</th><th>kind</th><th>host</th><th>steps</th><th>leases</th><th>since</th><th>version</th></tr></thead><tbody>
          ${load.services.map((one) => html`<tr><td class="mono">${clip(one.name, 60)}</td><td>${pill(one.up ? "DONE" : "FAILED", one.up ? "up" : `down${one.seen ? ` since ${duration(now() - one.seen)}` : ""}`)}</td>
            <td>${KINDS[one.kind] ?? one.kind}</td><td class="muted">${clip(one.host, 60)}, ${one.pid}</td><td class="num">${count(one.load)}</td><td class="num">${count(one.leases)}</td>
            <td class="muted">${one.started ? ago(one.started, now()) : ""}</td><td class="muted">${one.version}</td></tr>`)}</tbody></table></div>` : empty("No process is known", "")}
      </section>
      <section class="card"><div class="card-head pad"><h2>Stacks at work longest</h2></div>
        ${load.at_work.length ? html`<table class="table"><thead><tr><th>stack</th><th>status</th><th>project</th><th>since</th></tr></thead><tbody>
          ${load.at_work.map((one) => html`<tr><td><a href=${stackHref(one.name, one.id)}>${clip(one.name, 80)}</a></td><td>${statusPill(one.stack_status)}</td><td class="muted">${one.project}</td>
            <td class="muted num">${one.updated ? duration(now() - one.updated) : ""}</td></tr>`)}</tbody></table>` : empty("Nothing is at work", "")}
      </section>
      <section class="card"><div class="card-head pad"><h2>Leases that end first</h2><span class="muted small">A step holds a lease while it runs; the worker renews it.</span></div>
        ${load.leases.length ? html`<table class="table"><thead><tr><th>resource</th><th>stack</th><th>worker</th><th>fence</th><th>ends in</th></tr></thead><tbody>
          ${load.leases.map((one) => html`<tr><td><a href=${stackHref(one.stack.name, one.stack.id, "", { r: one.resource })}>${clip(one.resource, 80)}</a></td><td class="muted">${clip(one.stack.name, 80)}</td>
            <td class="mono">${one.worker}</td><td class="num">${one.fence}</td><td class="num ${one.until !== null && one.until - now() < SOON_S ? "drift-text" : ""}">${one.until === null ? "" : one.until < now() ? "over" : duration(one.until - now())}</td></tr>`)}</tbody></table>`
          : empty("No lease", "No step runs now.")}
      </section>`;
  }
}
