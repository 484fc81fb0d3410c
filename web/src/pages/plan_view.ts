// What a plan would do, one entry for each resource, with the cause and what is not certain.

import type { Change, Plan } from "../api/types.ts";
import { clip, count, cut, plural, value } from "../view/format.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import { strip } from "../view/parts.ts";
import { icon } from "../view/states.ts";

const SIGNS: Record<Change["action"], [sign: string, words: string]> = {
  create: ["+", "create"],
  update: ["~", "update"],
  replace: ["±", "replace"],
  delete: ["−", "delete"],
  retain: ["↷", "leave in the cloud"],
  move: ["→", "move"],
  nothing: ["=", "nothing"],
};
const ORDER: Change["action"][] = ["replace", "delete", "update", "create", "retain", "move"];
const SHOWN = 300;

export function counts(plan: Plan): TemplateResult {
  const some = (["create", "update", "replace", "delete", "retain", "move"] as const).filter((action) => plan.counts[action]);
  return html`${some.map((action) => html`<span class="plan-count a-${action}">${SIGNS[action][0]} ${count(plan.counts[action] ?? 0)} ${SIGNS[action][1]}</span>`)}
    ${plan.counts["nothing"] ? html`<span class="muted">${count(plan.counts["nothing"])} without change</span>` : nothing}`;
}

/** Whether an update also repairs what has drifted and is not part of its plan. */
export interface Repairing {
  on: boolean;
  set(on: boolean): void;
}

/** The resources to which a request is limited, and those that it leaves out. */
export interface Limiting {
  target: string[];
  exclude: string[];
  set(limits: { target?: string[]; exclude?: string[] }): void;
}

const WAITING = 12;

/** Say to what a request is limited, what that leaves out, and let it be changed. */
export function limitsView(waits: string[], { target, exclude, set }: Limiting): TemplateResult | typeof nothing {
  if (!target.length && !exclude.length) return nothing;
  const chips = (list: string[], change: (rest: string[]) => void): TemplateResult[] => list.map((name) => html`<button class="chip t-pending" aria-label=${`Do not limit by ${name}`}
    @click=${() => change(list.filter((one) => one !== name))}><span>${clip(name, 60)}</span> <span aria-hidden="true">✕</span></button>`);
  const others = waits.filter((name) => !exclude.includes(name));
  return html`<section class="limits" aria-label="Limits">${strip("SKIPPED", html`<b>Only a part of the stack.</b>
    ${target.length ? html`<div class="chips">Only ${chips(target, (rest) => set({ target: rest }))} and what ${target.length === 1 ? "it needs" : "they need"}.</div>` : nothing}
    ${exclude.length ? html`<div class="chips">Without ${chips(exclude, (rest) => set({ exclude: rest }))} and what needs ${exclude.length === 1 ? "it" : "them"}.</div>` : nothing}
    ${others.length ? html`<div class="chips">Left out${exclude.length ? " too" : ""}: ${others.slice(0, WAITING).map((name) => target.length
      ? html`<button class="chip t-skipped" aria-label=${`Bring ${name} too`} @click=${() => set({ target: [...target, name] })}><span aria-hidden="true">+</span> <span>${clip(name, 60)}</span></button>`
      : html`<span class="mono">${clip(name, 60)}</span>`)}${others.length > WAITING ? html` and ${count(others.length - WAITING)} more` : nothing}</div>` : nothing}
    <span class="muted">What is left out keeps what it has, and the stack says so until it is brought.</span>
    <button class="link" @click=${() => set({ target: [], exclude: [] })}>Plan everything</button>`)}</section>`;
}

/** The words of the button: what the plan destroys comes first. `repairs`: with what has drifted and is not part of the plan. */
export function applyWords(plan: Plan, create: boolean, repairs = false): string {
  const n = (action: string): number => plan.counts[action] ?? 0;
  if (create) return `Create ${plural(n("create"), "resource")}${plan.waits.length ? `, leave out ${count(plan.waits.length)}` : ""}`;
  const parts = [n("replace") ? `${count(n("replace"))} replace` : "", n("delete") ? `${count(n("delete"))} delete` : ""].filter(Boolean);
  const others = n("create") + n("update") + n("retain") + n("move");
  if (others) parts.push(parts.length ? plural(others, "other") : plural(others, "change"));
  const repaired = repairs ? plan.drift.filter((one) => !one.touched).length : 0;
  if (repaired) parts.push(plural(repaired, "repair"));
  const left = plan.waits.length ? `, leave out ${count(plan.waits.length)}` : "";
  return `Apply: ${parts.join(", ") || "no change"}${left}`;
}

/** One entry for each resource that changes. `toLine` leads to its place in the template of the editor beside the plan. */
export function entries(plan: Plan, toLine?: ToLine, limiting?: Limiting): TemplateResult {
  const changes = plan.resources.filter((one) => one.action !== "nothing");
  const sorted = [...changes].sort((a, b) => ORDER.indexOf(a.action) - ORDER.indexOf(b.action) || a.stack.length - b.stack.length);
  return html`${sorted.length ? sorted.slice(0, SHOWN).map((one) => entry(one, toLine, limiting)) : html`<div class="empty"><h2>No change</h2><p>${plan.waits?.length ? "Every resource that is not left out" : "Every resource"} is as the template says.</p></div>`}
    ${sorted.length > SHOWN || plan.left_out ? html`<p class="note muted">and ${plural(Math.max(0, sorted.length - SHOWN) + plan.left_out, "more resource")}</p>` : nothing}`;
}

export function planView(plan: Plan, toLine: ToLine, repairing: Repairing | null, limiting: Limiting): TemplateResult {
  const untouched = plan.drift.filter((one) => !one.touched);
  const overwritten = plan.drift.filter((one) => one.touched);
  return html`<section class="card plan-card" aria-label="What it would do">
    <div class="card-head pad"><h2>What it would do</h2>${counts(plan)}</div>
    <div class="scroller plan-list">
      ${entries(plan, toLine, limiting)}
      ${untouched.length ? html`<div class="pad">${strip("DRIFTED", html`<b>${plural(untouched.length, "resource has", "resources have")} drifted and ${untouched.length === 1 ? "is" : "are"} ${repairing?.on ? "repaired as well" : "not part of this plan"}.</b>
        ${untouched.slice(0, 5).map((one) => drifted(one))}
        ${untouched.length > 5 ? html`<span class="block muted">and ${count(untouched.length - 5)} more</span>` : nothing}
        ${repairing ? html`<button class="link" @click=${() => repairing.set(!repairing.on)}>${repairing.on ? `Leave ${untouched.length === 1 ? "it as it is" : "them as they are"}` : `Repair ${untouched.length === 1 ? "it" : "them"} too`}</button>` : nothing}`)}</div>` : nothing}
      ${overwritten.length ? html`<div class="pad">${strip("DRIFTED", html`<b>This overwrites what was changed by hand:</b> ${overwritten.slice(0, 5).map((one) => drifted(one))}`)}</div>` : nothing}
    </div>
  </section>`;
}

type ToLine = (line: number, column: number) => void;

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function drifted(one: Plan["drift"][number]): TemplateResult {
  const first = one.properties[0];
  return html`<span class="block">${one.resource_name}: ${one.drift === "gone" ? "gone from the cloud" : first
    ? html`${first.property} is <span class="mono">${clip(value(first.live), 80)}</span>, wanted <span class="mono">${clip(value(first.wanted), 80)}</span>` : "changed"}</span>`;
}

function entry(one: Change, toLine?: ToLine, limiting?: Limiting): TemplateResult {
  const [sign, words] = SIGNS[one.action];
  const changes = Object.entries(one.changes ?? {}).filter(([, change]) => !("to" in change) || JSON.stringify(change.from) !== JSON.stringify(change.to));
  return html`<article class="plan-item">
    <span class="sign a-${one.action}" aria-hidden="true">${sign}</span>
    <div class="plan-text">
      <div>${one.line && toLine ? html`<button class="link strong" @click=${() => toLine(one.line ?? 1, one.column ?? 1)}>${clip(one.resource_name, 120)}</button>`
        : html`<b>${clip([...one.stack, one.resource_name].join(" / "), 160)}</b>`} <span class="mono muted">${one.resource_type}</span></div>
      ${one.moved_from ? html`<div class="muted wrap">${cut(`Moved from ${one.moved_from}: its object stays.`, 600)}</div>` : nothing}
      ${one.refused ? html`<div class="error-text wrap">${icon("LOCKED")} Refused: ${cut(sentence(one.refused), 600)}</div>` : nothing}
      ${one.cause ? html`<div class="muted wrap">${cut(sentence(one.cause), 600)}${one.action === "replace" ? " The old one is kept until all has succeeded." : ""}</div>` : nothing}
      ${one.action === "create" ? nothing : changes.slice(0, 12).map(([name, change]) => html`<div class="mono change wrap">${name} <del>${clip(value(change.from), 200)}</del> <span aria-hidden="true">→</span><span class="sr-only"> becomes </span> <ins>${
        "to" in change ? clip(value(change.to), 200) : "known only when applied"}</ins></div>`)}
    </div>
    <span class="plan-side-words"><span class="plan-action a-${one.action}">${words}${one.certain ? "" : html`<span title="It depends on values that are known only when the plan is applied."> ?<span class="sr-only"> not certain</span></span>`}</span>
      ${limiting && !limiting.target.length && !one.stack.length ? html`<span class="plan-limits small"><button class="link" aria-label=${`Only ${one.resource_name}`} title="Change only this, and what it needs" @click=${() => limiting.set({ target: [one.resource_name], exclude: [] })}>Only this</button>
        <button class="link" aria-label=${`Leave out ${one.resource_name}`} title="Leave this as it is, and what needs it" @click=${() => limiting.set({ exclude: [...limiting.exclude, one.resource_name] })}>Leave out</button></span>` : nothing}</span>
  </article>`;
}
