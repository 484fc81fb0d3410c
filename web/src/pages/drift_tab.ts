// Drift: what was changed behind the template's back, and how to make it right.

import { ask, get, now, stackPath } from "../api/client.ts";
import type { Delta, Drift, DriftedProperty } from "../api/types.ts";
import { notify } from "../app.ts";
import { query, setQuery } from "../router.ts";
import { ago, clip, duration, moment, plural, seconds } from "../view/format.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { empty, pill } from "../view/parts.ts";
import { icon } from "../view/states.ts";
import * as actions from "./actions.ts";
import { properties } from "./drawer.ts";
import type { StackContext, StackTab } from "./tab.ts";

interface DriftedResource {
  resource_name: string;
  resource_type?: string;
  drift: Drift;
  policy?: string;
  observed_at?: string | number | null;
  drifted_since?: string | number | null;
  given_up_since?: string | number | null;
  not_repaired?: string;
  reason?: string;
  properties?: DriftedProperty[];
}

interface DriftOfStack {
  drift?: string;
  policy?: string;
  mode?: string;
  interval?: number | null;
  resources?: DriftedResource[];
}

const POLICIES: [string, string][] = [["", "as the option says"], ["ignore", "do not look"], ["report", "report"], ["repair", "repair by itself"]];
const MODES: [string, string][] = [["active", "active"], ["maintenance", "maintenance: report only"], ["paused", "paused: do not look"]];

export class DriftTab implements StackTab {
  private readonly drift: Loader<DriftOfStack>;

  constructor(private readonly of: StackContext) {
    this.drift = new Loader<DriftOfStack>("the drift", async (signal) =>
      (await get<{ drift: DriftOfStack }>(stackPath(of.name, of.id, "/drift"), { all: query("all") === "1" }, signal)).drift);
    void this.drift.load();
  }

  moved(): void {
    void this.drift.load();
  }

  leave(): void {
    this.drift.stop();
  }

  again(): void {
    this.drift.soon(1000);
  }

  delta(_delta: Delta): void {
    this.drift.soon(2000);
  }

  view(): unknown {
    return html`<div class="scroller tab-scroll"><div class="tab-inner">${this.drift.view((found) => this.draw(found))}</div></div>`;
  }

  private draw(found: DriftOfStack): unknown {
    const summary = this.of.summary();
    const head = summary?.drift;
    const list = found.resources ?? [];
    const bad = list.filter((one) => one.drift === "drifted" || one.drift === "gone");
    const not = (name: string): string => (summary?.may.includes(name) ? "" : (summary?.may_not[name]?.text ?? "Not possible now."));
    return html`<section class="card">
      <div class="card-tools drift-tools">
        <label class="select">Policy <select ?disabled=${Boolean(not("set_drift"))} @change=${(event: Event) => void this.set({ policy: (event.target as HTMLSelectElement).value || null })}>
          ${POLICIES.map(([value, words]) => html`<option value=${value} ?selected=${(head?.policy ?? found.policy ?? "") === value}>${words}</option>`)}</select></label>
        <label class="select">Mode <select ?disabled=${Boolean(not("set_drift"))} @change=${(event: Event) => void this.set({ mode: (event.target as HTMLSelectElement).value })}>
          ${MODES.map(([value, words]) => html`<option value=${value} ?selected=${(head?.mode ?? found.mode) === value}>${words}</option>`)}</select></label>
        <label class="check"><input type="checkbox" ?checked=${query("all") === "1"} @change=${(event: Event) => setQuery({ all: (event.target as HTMLInputElement).checked ? "1" : "" })}> also what is in order</label>
        <span class="muted">${head?.observed ? `Last look ${ago(head.observed, now())}` : "Not looked at yet"}${head?.next && head.next > now() ? `, next in ${duration(Math.ceil(head.next - now()))}` : ""}</span>
        <span class="grow"></span>
        <button class="button" ?disabled=${Boolean(not("observe"))} title=${not("observe")} @click=${() => void actions.look(this.of)}>Look now</button>
        ${bad.length ? html`<button class="button primary" ?disabled=${Boolean(not("repair"))} title=${not("repair")}
          @click=${() => summary && actions.repair(summary, this.of, [], bad.length)}>Repair ${plural(bad.length, "resource")}…</button>` : nothing}
      </div>
      ${list.length ? list.map((one) => this.resource(one, not("repair"))) : empty("No drift", head?.observed
        ? "Everything in the cloud is as it was last applied." : "Nothing was compared yet. The observer looks at resources now and then; Look now asks for it at once.")}
    </section>`;
  }

  private resource(one: DriftedResource, notRepair: string): unknown {
    const summary = this.of.summary();
    const bad = one.drift === "drifted" || one.drift === "gone";
    return html`<article class="drift-item">
      <div class="drift-head">${icon(bad ? "DRIFTED" : one.drift === "in_sync" ? "DONE" : "PENDING")}
        <button class="link strong" @click=${() => setQuery({ r: one.resource_name })}>${clip(one.resource_name, 120)}</button>
        <span class="mono muted">${one.resource_type ?? ""}</span>
        ${pill(bad ? "DRIFTED" : one.drift === "in_sync" ? "DONE" : "PENDING", one.drift.replace("_", " "))}
        ${one.given_up_since ? html`<span class="drift-text">repair given up ${ago(seconds(one.given_up_since) ?? now(), now())}</span>` : nothing}
        <span class="muted">${[bad && one.drifted_since ? `since ${since(one.drifted_since)}` : "", one.policy ? `policy: ${one.policy}` : ""].filter(Boolean).join(", ")}</span><span class="grow"></span>
        ${bad ? html`<button class="button small" ?disabled=${Boolean(notRepair)} title=${notRepair} @click=${() => summary && actions.repair(summary, this.of, [one.resource_name], 1)}>Repair…</button>` : nothing}</div>
      ${one.not_repaired ? html`<p class="muted">Not repaired: ${one.not_repaired}</p>` : nothing}
      ${one.drift === "gone" ? html`<p class="muted">It is gone from the cloud. A repair makes it again.</p>` : nothing}
      ${one.properties?.length ? properties(one) : nothing}
    </article>`;
  }

  private async set(body: Record<string, string | null>): Promise<void> {
    try {
      await ask("PUT", stackPath(this.of.name, this.of.id, "/drift"), body);
      this.of.again();
      void this.drift.load();
    } catch (error) {
      notify((error as Error).message, true);
    }
  }
}

/** Say since when something has drifted: the moment, and how long ago that is. */
function since(time: string | number): string {
  const at = seconds(time) ?? 0;
  return `${moment(at, now())}, ${ago(at, now())}`;
}
