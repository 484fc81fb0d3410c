// The head of a stack: where it is, how far it is, the first failure with the way out, what can be done.

import { now } from "../api/client.ts";
import type { Summary } from "../api/types.ts";
import { HOME, query, stackHref, TABS, type Tab } from "../router.ts";
import { bar, legend } from "../view/bar.ts";
import { ago, clip, count, duration, plainReason, plural } from "../view/format.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import { menu } from "../view/menu.ts";
import { driftPill, pill, statusPill, strip } from "../view/parts.ts";
import { icon } from "../view/states.ts";
import * as actions from "./actions.ts";
import * as protection from "./protection.ts";
import type { StackContext } from "./tab.ts";

export function head(summary: Summary, of: StackContext): TemplateResult {
  const { stack, operation } = summary;
  return html`<header class="stack-head">
    <nav class="crumbs" aria-label="Where this stack is"><a href=${HOME}>Stacks</a>${summary.path.map((step, i) => html`
      <span aria-hidden="true">/</span>${i === summary.path.length - 1
        ? html`<span aria-current="page">${step.resource ?? step.name}</span>`
        : html`<a href=${stackHref(step.name, step.id)}>${step.resource ?? step.name}</a>`}`)}</nav>
    <div class="head-line">
      <h1 title=${stack.name}>${summary.path.length > 1 ? (summary.path[summary.path.length - 1]?.resource ?? stack.name) : stack.name}</h1>
      ${stack.deleted ? statusPill("DELETE_COMPLETE") : summary.hooks_total ? pill("WAITING", "Waits at a hook") : statusPill(stack.stack_status)}
      ${summary.drift && summary.drift.drifted + summary.drift.gone ? html`<a class="plain" href=${stackHref(stack.name, stack.id, "drift")}>${driftPill(summary.drift.drifted, summary.drift.gone)}</a>` : nothing}
      ${stack.protected || summary.protection ? html`<button class="pill t-locked" aria-label=${`${stack.protected ? "Protected" : "Partly protected"}: show by whom`} title=${summary.protection ?? ""} @click=${() => protection.ofStack(of)}>${icon("LOCKED")}<span>${stack.protected ? "Protected" : "Partly protected"}</span></button>` : nothing}
      <span class="muted">${story(summary).map((part, i) => html`${i ? ", " : ""}<span class="whole">${part}</span>`)}</span>
      <span class="grow"></span>
      ${stack.deleted ? nothing : buttons(summary, of)}
    </div>
    <div class="head-line progress">${bar(summary.counts)}${legend(summary.counts, summary.total, summary.hooks_total)}
      ${summary.tree ? html`<span class="muted">with nested stacks: ${count(summary.tree.counts.DONE ?? 0)} of ${count(summary.tree.total)} done in ${plural(summary.tree.stacks, "stack")}</span>` : nothing}
    </div>
    ${messages(summary, of)}
  </header>`;

  function story(found: Summary): string[] {
    const parts = [`generation ${stack.generation}`];
    if (stack.owner) parts.push(`by ${stack.owner}`);
    if (operation?.running && operation.began) parts.push(`began ${duration(Math.floor(now() - operation.began))} ago`);
    else if (operation?.ended) {
      parts.push(`ended ${ago(operation.ended, found.now)}`);
      if (operation.began) parts.push(`took ${duration(operation.ended - operation.began)}`);
    }
    return parts;
  }
}

function messages(summary: Summary, of: StackContext): TemplateResult {
  const { stack, operation } = summary;
  const failure = operation?.failure;
  const failed = summary.counts.FAILED ?? 0;
  const left = summary.counts.SKIPPED ?? 0;
  const back = summary.rollback_generation;
  return html`${failure
    ? strip("FAILED", html`<b>${failure.resource
        ? html`<a href=${stackHref(stack.name, stack.id, query("tab"), { r: failure.resource })}>${failure.resource}</a> failed first`
        : "The operation failed"}</b>${failure.at && operation?.began ? html` <span class="muted">after ${duration(failure.at - operation.began)}</span>` : nothing}:
        <span class="wrap">${clip(failure.resource ? plainReason(failure.reason) : failure.reason, 600)}</span>
        ${failure.resource ? html` <a href=${stackHref(stack.name, stack.id, "template", { r: failure.resource ?? "" })}>See it in the template</a>${(failure.line ?? 1) > 1 ? html`<span class="muted">, line ${failure.line} of what was sent</span>` : nothing}` : nothing}
        ${failed > 1 || left ? html`<span class="muted">${[failed > 1 ? `${count(failed - 1)} more failed` : "", left ? `${count(left)} left out because of it` : ""].filter(Boolean).join(", ")}.</span>` : nothing}
        ${operation?.running ? nothing : html`<span class="strip-actions">
          ${summary.may.includes("update") ? html`<a href=${stackHref(stack.name, stack.id, "update")}>Change the template and update</a>` : nothing}
          ${summary.may.includes("retry") ? html`<button class="link" @click=${() => actions.retry(summary, of)}>Try again</button>` : nothing}
          ${summary.may.includes("roll_back") && back ? html`<button class="link" @click=${() => actions.rollBack(summary, of)}>Roll back to generation ${back}</button>` : nothing}
        </span>`}`, "alert")
    : stack.status === "FAILED" && !stack.deleted ? strip("FAILED", html`<span class="wrap">${clip(stack.reason, 600)}</span>`, "alert") : nothing}
  ${summary.left_out.total && !operation?.running && !stack.deleted ? strip("SKIPPED", html`<b>${plural(summary.left_out.total, "resource")} left out</b> of the last update:
      ${summary.left_out.resources.slice(0, LEFT_OUT).map((name, i) => html`${i ? ", " : ""}<a href=${stackHref(stack.name, stack.id, "", { r: name })}>${clip(name, 80)}</a>`)}${
        summary.left_out.total > LEFT_OUT ? ` and ${count(summary.left_out.total - LEFT_OUT)} more` : ""}.
      ${summary.may.includes("retry") ? html`<span class="strip-actions"><button class="link" @click=${() => actions.retry(summary, of)}>Bring ${summary.left_out.total === 1 ? "it" : "them"} up to date</button></span>` : nothing}`) : nothing}
  ${summary.hooks.slice(0, 3).map((hook) => strip("WAITING", html`<b><a href=${stackHref(stack.name, stack.id, "", { r: hook.resource })}>${hook.resource}</a></b>
      waits at its ${hook.hook} hook${hook.since ? ` for ${duration(Math.floor(now() - hook.since))}` : ""}.
      ${summary.may.includes("clear_hook") ? html`<button class="link" @click=${() => void actions.clearHook(of, hook.resource, hook.hook)}>Clear it, and go on</button>` : nothing}`))}
  ${summary.hooks_total > 3 ? html`<p class="muted small">${count(summary.hooks_total - 3)} more hooks wait.</p>` : nothing}`;
}

function buttons(summary: Summary, of: StackContext): TemplateResult {
  const { stack, operation } = summary;
  const not = (name: string): string => (summary.may.includes(name) ? "" : (summary.may_not[name]?.text ?? "Not possible now."));
  return html`<div class="buttons">
    ${summary.may.includes("cancel") ? html`<button class="button danger" @click=${() => actions.cancel(summary, of)}>Cancel…</button>` : nothing}
    ${summary.may.includes("roll_back") && (operation?.running || stack.status === "FAILED") ? html`<button class="button optional" @click=${() => actions.rollBack(summary, of)}>Roll back…</button>` : nothing}
    ${menu("more", "More", [
      { words: "Look at the cloud now", act: () => void actions.look(of), not: not("observe") },
      { words: "Roll back…", act: () => actions.rollBack(summary, of), not: not("roll_back") },
      { words: "Try again…", act: () => actions.retry(summary, of), not: not("retry") },
      { words: "Cancel without rolling back…", act: () => actions.cancel(summary, of, true), not: not("cancel_without_rollback") },
      { words: "Check", act: () => void actions.simple(summary, of, "check", "Checking all resources."), not: not("check") },
      { words: "Suspend", act: () => void actions.simple(summary, of, "suspend", "Suspending."), not: not("suspend") },
      { words: "Resume", act: () => void actions.simple(summary, of, "resume", "Resuming."), not: not("resume") },
      { words: "Take a snapshot…", act: () => actions.snapshot(of), not: not("snapshot") },
      { words: "Protection…", act: () => protection.ofStack(of) },
      { words: "Abandon…", act: () => actions.remove(summary, of, true), not: not("abandon"), danger: true },
      { words: "Delete…", act: () => actions.remove(summary, of), not: not("delete"), danger: true },
    ])}
    ${summary.may.includes("update")
      ? html`<a class="button primary" href=${stackHref(stack.name, stack.id, "update")}>Update…</a>`
      : html`<button class="button primary" disabled title=${not("update")}>Update…</button>`}
  </div>`;
}

/** Names of resources that were left out, shown in the head. */
const LEFT_OUT = 5;

const WORDS: Record<Tab, string> = {
  graph: "Graph", resources: "Resources", timeline: "Timeline", history: "History", events: "Events", drift: "Drift", outputs: "Outputs",
  parameters: "Parameters", template: "Template", snapshots: "Snapshots",
};

export function tabs(summary: Summary, current: Tab): TemplateResult {
  const drifted = (summary.drift?.drifted ?? 0) + (summary.drift?.gone ?? 0);
  const numbers: Partial<Record<Tab, number>> = { resources: summary.total, events: summary.events, drift: drifted, snapshots: summary.snapshots };
  const keys = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")];
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[(at + (event.key === "ArrowRight" ? 1 : all.length - 1)) % all.length]?.focus();
  };
  return html`<div class="tabs" role="tablist" aria-label="Views of this stack" @keydown=${keys}>${TABS.map((tab) => {
    const n = numbers[tab];
    return html`<a role="tab" id=${`tab-${tab}`} aria-selected=${String(tab === current)} aria-controls="tabpanel" tabindex=${tab === current ? "0" : "-1"}
      href=${stackHref(summary.stack.name, summary.stack.id, tab === "graph" ? "" : tab, { r: query("r") })}>${WORDS[tab]}${n
        ? html`<span class="badge ${tab === "drift" ? "t-drifted" : ""}">${count(n)}</span>` : nothing}</a>`;
  })}</div>`;
}
