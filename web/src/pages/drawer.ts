// The drawer of a resource: its state in one sentence, why it waits, its neighbours, properties, attempts, versions.

import { get, now, Refusal, resourcePath } from "../api/client.ts";
import type { DriftedProperty, Event, Neighbour, ProtectionOf, Why } from "../api/types.ts";
import { refresh } from "../app.ts";
import { setQuery, stackHref } from "../router.ts";
import { ago, clip, count, cut, duration, moment, plainReason, plural, seconds, value } from "../view/format.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { menu, type Item } from "../view/menu.ts";
import { copyButton, strip } from "../view/parts.ts";
import { icon, isUnhealthy, ofStatus, WAITS_FOR_USER, WORDS, type Tone } from "../view/states.ts";
import * as actions from "./actions.ts";
import * as protection from "./protection.ts";
import type { StackContext } from "./tab.ts";

type Part = "properties" | "attempts" | "events";

interface DriftOf {
  drift: string;
  policy?: string;
  observed?: string | number | null;
  drifted_since?: string | number | null;
  properties?: DriftedProperty[];
  /** All properties as they were last applied; only in the answer for one resource. */
  applied?: Record<string, unknown>;
}

export class Drawer {
  private part: Part = "properties";
  private readonly why: Loader<Why>;
  private readonly drift: Loader<DriftOf>;
  private readonly events: Loader<Event[]>;
  private readonly protection: Loader<ProtectionOf>;
  private ticking = 0;

  constructor(
    private readonly of: StackContext,
    readonly resource: string,
  ) {
    const path = (rest: string): string => resourcePath(of.name, of.id, resource, rest);
    this.why = new Loader<Why>("the resource", async (signal) => (await get<{ why: Why }>(path("/why"), {}, signal)).why);
    this.drift = new Loader<DriftOf>("the properties", (signal) => driftOf(path("/drift"), signal));
    this.events = new Loader<Event[]>("the events", async (signal) => (await get<{ events: Event[] }>(path("/events"), { limit: 50, sort_dir: "desc" }, signal)).events);
    this.protection = new Loader<ProtectionOf>("the protection", async (signal) => (await get<{ protection: ProtectionOf }>(path("/protection"), {}, signal)).protection);
    void this.why.load();
    void this.protection.load();
    void this.drift.load();
    this.ticking = window.setInterval(() => {
      const state = this.why.data?.resource.state;
      if ((state === "RUNNING" || state === "WAITING") && !document.hidden) refresh();
    }, 1000);
  }

  again(): void {
    this.why.soon(1000);
    this.drift.soon(2000);
    this.protection.soon(2000);
    if (this.part === "events") this.events.soon(2000);
  }

  leave(): void {
    window.clearInterval(this.ticking);
    this.why.stop();
    this.drift.stop();
    this.events.stop();
    this.protection.stop();
  }

  view(): TemplateResult {
    return html`<aside class="drawer" aria-label=${`Resource ${this.resource}`}>
      <button class="close drawer-close" aria-label="Close" @click=${() => setQuery({ r: "" })}>✕</button>
      ${this.why.view((why) => this.draw(why))}
    </aside>`;
  }

  private draw(why: Why): TemplateResult {
    const one = why.resource;
    const drift = one.state === "DONE" ? this.drift.data : null;
    const unhealthy = isUnhealthy(one);
    const tone: Tone = unhealthy ? "FAILED" : drift?.drift === "drifted" || drift?.drift === "gone" ? "DRIFTED" : one.state;
    return html`
      <div class="drawer-head">${icon(tone)}<h2 class="wrap">${clip(one.name, 300)}</h2></div>
      <p class="mono muted">${one.type}</p>
      <div class="callout t-${tone.toLowerCase()}"><b>${tone === "DRIFTED" ? driftTitle(drift) : unhealthy ? "Unhealthy" : this.title(why)}</b>
        <span class="wrap">${tone === "DRIFTED" ? `It was done${one.since ? ` ${ago(one.since, now())}` : ""}, and ${drift?.drift === "gone" ? "is not in the cloud any more" : "was changed since then"}.` : cut(why.sentence, 800)}</span>
        ${one.reason && !why.hooks.length && !why.sentence.includes(plainReason(one.reason).slice(0, 60)) ? html`<span class="wrap muted">${cut(one.reason, 1500)}</span>` : nothing}
        ${why.wake_up && one.state === "WAITING" && !why.hooks.length ? html`<span class="muted">Next look ${why.wake_up > now() ? `in ${duration(why.wake_up - now())}` : "now"}.</span>` : nothing}
      </div>
      ${this.of.summary()?.left_out.resources.includes(this.resource) ? strip("SKIPPED", html`An update has left it out: it keeps the definition that it had.`) : nothing}
      ${why.chain.length > 1 ? this.chain(why) : nothing}
      ${this.neighbours(one.state === "PENDING" ? "Waits for" : one.state === "SKIPPED" ? "Needs" : "Waited for", why.waits_for, why.waits_for_total)}
      ${this.neighbours("Holds up", why.holds_up, why.holds_up_total)}
      ${this.parts(why)}
      ${this.facts(why)}
      ${this.buttons(why)}`;
  }

  private title(why: Why): string {
    const one = why.resource;
    const words = why.hooks.length ? WAITS_FOR_USER : WORDS[one.state];
    const shown = words.charAt(0).toUpperCase() + words.slice(1);
    if (one.since && (one.state === "RUNNING" || one.state === "WAITING")) return `${shown}, ${duration(Math.max(1, Math.floor(now() - one.since)))}`;
    return one.since ? `${shown}, ${ago(one.since, now())}` : shown;
  }

  /** Who waits for whom, down to the one thing that runs or failed. */
  private chain(why: Why): TemplateResult {
    const last = why.chain.length - 1;
    return html`<section><h3>Why</h3><ol class="chain">${why.chain.map((step, i) => html`
      ${i === last && why.left_out ? html`<li class="muted">and ${plural(why.left_out, "more step")}</li>` : nothing}
      <li class="t-${step.state.toLowerCase()}">${icon(step.state)}
        <a href=${stackHref(step.stack.name, step.stack.id, "", { r: step.name })}>${clip(step.name, 80)}</a>
        <span class="muted">${step.hook ? `${WAITS_FOR_USER} (${step.hook})` : WORDS[step.state]}${step.since && step.state !== "DONE" ? `, ${duration(Math.max(0, Math.floor(now() - step.since)))}` : ""}${
          step.stack.id !== this.of.id ? ` in ${clip(step.stack.name, 60)}` : ""}</span>
        ${i === last && step.reason && !step.hook ? html`<span class="wrap chain-reason">${cut(step.reason, 600)}</span>` : nothing}</li>`)}</ol></section>`;
  }

  private neighbours(title: string, list: Neighbour[], all: number): TemplateResult | typeof nothing {
    if (!list.length) return nothing;
    const done = list.length === all && list.every((one) => one.state === "DONE");
    const shown = list.slice(0, 12);
    return html`<section><h3>${title} <span class="muted">${done ? "all done" : plural(all, "resource")}</span></h3>
      <div class="chips">${shown.map((one) => html`<button class="chip t-${one.state.toLowerCase()}" title=${`${one.type}: ${WORDS[one.state]}`}
        @click=${() => setQuery({ r: one.name }, false)}>${icon(one.state, WORDS[one.state])}<span>${clip(one.name, 60)}</span></button>`)}
        ${all > shown.length ? html`<span class="muted">and ${count(all - shown.length)} more</span>` : nothing}</div></section>`;
  }

  private parts(why: Why): TemplateResult {
    const choose = (part: Part): void => {
      this.part = part;
      if (part === "events" && !this.events.data) void this.events.load();
      refresh();
    };
    const names: [Part, string][] = [["properties", "Properties"], ["attempts", `Attempts ${why.attempts.length || ""}`], ["events", "Events"]];
    return html`<div class="subtabs" role="group" aria-label="Details">${names.map(([part, words]) => html`<button aria-pressed=${String(this.part === part)} @click=${() => choose(part)}>${words}</button>`)}
        ${why.resource.line ? html`<a href=${stackHref(this.of.name, this.of.id, "template", { r: this.resource })}>Template</a>` : nothing}</div>
      ${this.part === "properties" ? this.drift.view((drift) => properties(drift))
        : this.part === "attempts" ? attempts(why)
        : this.events.view((events) => html`<ul class="plain-list">${events.map((event) => html`<li><span class="muted num">${moment(seconds(event.event_time) ?? 0, now())}</span>
            ${ofStatus(event.resource_status).words}<span class="wrap muted">${cut(event.resource_status_reason ?? "", 400)}</span></li>`)}</ul>`)}`;
  }

  private facts(why: Why): TemplateResult {
    const versions = why.versions;
    const current = versions.find((one) => !one.superseded) ?? versions[0];
    const older = versions.filter((one) => one !== current);
    return html`<dl class="facts">
      ${why.resource.physical_id ? html`<dt>Physical id</dt><dd><span class="mono wrap">${cut(why.resource.physical_id, 200)}</span> ${copyButton(why.resource.physical_id, "the physical id")}</dd>` : nothing}
      ${why.resource.stack_id ? html`<dt>Contains</dt><dd><a href=${stackHref(why.resource.stack_name ?? why.resource.name, why.resource.stack_id)}>Open the nested stack</a></dd>` : nothing}
      ${older.length ? html`<dt>Versions</dt><dd>${older.map((one) => html`<span class="mono">${clip(one.physical_id ?? one.id, 40)}</span> ${one.replaced_by ? "replaced, " : ""}${ofStatus(`${one.action}_${one.status}`).words.toLowerCase()}<br>`)}</dd>` : nothing}
      ${this.protection.data?.protect.length ? html`<dt>${icon("LOCKED")} Protected</dt><dd class="wrap">${protection.protectedFrom(this.protection.data)}</dd>` : nothing}
      ${why.worker ? html`<dt>Worker</dt><dd>${why.worker.name}, fence ${why.worker.fence}${why.worker.lease_until ? `, lease for ${duration(Math.max(0, why.worker.lease_until - now()))}` : ""}</dd>` : nothing}
    </dl>`;
  }

  private buttons(why: Why): TemplateResult {
    const summary = this.of.summary();
    if (!summary) return html``;
    const not = (name: string): string => (summary.may.includes(name) ? "" : (summary.may_not[name]?.text ?? "Not possible now."));
    const drifted = this.drift.data?.drift === "drifted" || this.drift.data?.drift === "gone";
    const shield = this.protection.data;
    const again = (): void => void this.protection.load();
    const late = summary.left_out.resources.includes(this.resource);
    const retries = summary.may.includes("retry") && !summary.operation?.running && (late || ["FAILED", "SKIPPED"].includes(why.resource.state));
    const items: Item[] = [
      { words: "Protect…", act: () => protection.protect(this.of, this.resource, again), not: not("protect") },
      ...(shield?.protect.length ? [{ words: "Lift the protection…", act: () => protection.lift(this.of, shield, again), not: not("unprotect") }] : []),
      { words: "Signal…", act: () => actions.signal(this.of, this.resource), not: not("signal") },
      { words: "Mark unhealthy…", act: () => actions.unhealthy(this.of, this.resource), not: not("mark_unhealthy"), danger: true },
      { words: "Forget…", act: () => actions.forget(summary, this.of, this.resource), not: not("update"), danger: true },
    ];
    return html`<div class="buttons drawer-buttons">
      ${why.hooks.map((hook) => html`<button class="button primary" ?disabled=${Boolean(not("clear_hook"))} @click=${() => void actions.clearHook(this.of, this.resource, hook.hook)}>Clear ${hook.hook}</button>`)}
      ${retries ? html`<button class="button primary" @click=${() => actions.retry(summary, this.of, [this.resource])}>${late ? "Bring up to date…" : "Try again…"}</button>` : nothing}
      ${drifted ? html`<button class="button primary" ?disabled=${Boolean(not("repair"))} title=${not("repair")} @click=${() => actions.repair(summary, this.of, [this.resource], 1)}>Repair…</button>` : nothing}
      <button class="button" ?disabled=${Boolean(not("observe"))} title=${not("observe")} @click=${() => void actions.look(this.of, this.resource)}>Look now</button>
      ${menu("resource", "More", items)}
    </div>`;
  }
}

function driftTitle(drift: DriftOf | null): string {
  const at = seconds(drift?.drifted_since);
  return `${drift?.drift === "gone" ? "Gone from the cloud" : "Drifted"}${at === null ? "" : `, seen ${ago(at, now())}`}`;
}

/** Read the drift of a resource; one that was not made yet has none. */
async function driftOf(path: string, signal: AbortSignal): Promise<DriftOf> {
  try {
    return (await get<{ drift: DriftOf }>(path, {}, signal)).drift;
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return { drift: "unmade" };
    throw error;
  }
}

/** Wanted, applied and live of each property that drifted, in a table; then what else was applied. */
export function properties(drift: DriftOf): TemplateResult {
  const list = drift.properties ?? [];
  const drifted = new Set(list.map((one) => one.property));
  const rest = Object.entries(drift.applied ?? {}).filter(([name, one]) => !drifted.has(name) && one !== null);
  if (!list.length && !rest.length) return html`<p class="muted small">${EMPTY[drift.drift] ?? "It has no properties."}</p>`;
  return html`${list.length ? html`<table class="small-table"><thead><tr><th>property</th><th>wanted</th><th>applied</th><th>live</th></tr></thead><tbody>
      ${list.map((one) => html`<tr><td class="wrap">${one.property}</td>
        <td class="mono wrap">${one.change_pending ? html`<span class="muted">changing</span>` : cut(value(one.wanted), 300)}</td><td class="mono wrap">${cut(value(one.applied), 300)}</td>
        <td class="mono wrap ${value(one.live) !== value(one.applied) ? "drift-text" : ""}">${cut(value(one.live), 300)}</td></tr>`)}</tbody></table>` : nothing}
    ${rest.length ? html`<table class="small-table two-columns"><thead><tr><th>property</th><th>${list.length ? "applied, no drift" : LIVE[drift.drift] ?? "applied"}</th></tr></thead><tbody>
      ${rest.slice(0, MOST).map(([name, one]) => html`<tr><td class="wrap">${name}</td><td class="mono wrap">${cut(value(one), 300)}</td></tr>`)}</tbody></table>
      ${rest.length > MOST ? html`<p class="muted small">and ${count(rest.length - MOST)} more</p>` : nothing}` : nothing}`;
}

const MOST = 40;
const EMPTY: Record<string, string> = { unmade: "Nothing was applied yet.", gone: "It is gone from the cloud." };
const LIVE: Record<string, string> = { in_sync: "applied, and live", never_seen: "applied, not looked at yet", gone: "applied, gone from the cloud" };

function attempts(why: Why): TemplateResult {
  if (!why.attempts.length) return html`<p class="muted small">Nothing has been tried yet.</p>`;
  return html`<ul class="plain-list">${why.attempts.map((one) => {
    const tone: Tone = one.status === "FAILED" ? "FAILED" : one.status === "COMPLETE" ? "DONE" : "RUNNING";
    return html`<li>${icon(tone)} ${ofStatus(`${one.action}_${one.status}`).words}
      <span class="muted">${one.began ? moment(one.began, now()) : ""}${one.began && one.ended ? `, ${duration(one.ended - one.began)}` : ""}</span>
      ${one.reason ? html`<span class="wrap block">${cut(plainReason(one.reason), 800)}</span>` : nothing}</li>`;
  })}</ul>`;
}
