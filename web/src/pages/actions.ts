// What a user can do to a stack. Each action asks where it cannot be undone, and is refused when the stack has moved on.

import { ask, get, ifGeneration, resourcePath, stackPath } from "../api/client.ts";
import type { DriftedProperty, Summary } from "../api/types.ts";
import { notify, refresh } from "../app.ts";
import { go, HOME } from "../router.ts";
import { show } from "../view/dialog.ts";
import { clip, count, plural, value } from "../view/format.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import type { StackContext } from "./tab.ts";

async function tried(what: () => Promise<unknown>, done: string, of?: StackContext): Promise<boolean> {
  try {
    await what();
    notify(done);
    of?.again();
    return true;
  } catch (error) {
    notify((error as Error).message, true);
    return false;
  }
}

async function act(summary: Summary, of: StackContext, name: string): Promise<void> {
  await ask("POST", stackPath(of.name, of.id, "/actions"), { [name]: null }, ifGeneration(summary.stack.generation));
  of.again();
}

export async function simple(summary: Summary, of: StackContext, name: string, done: string): Promise<void> {
  await tried(() => act(summary, of, name), done);
}

export async function look(of: StackContext, resource?: string): Promise<void> {
  const path = resource ? resourcePath(of.name, of.id, resource, "/observe") : stackPath(of.name, of.id, "/observe");
  await tried(() => ask("POST", path, resource ? undefined : {}), resource ? `Looking at ${resource}.` : "Looking at all resources of this stack.", of);
}

export async function clearHook(of: StackContext, resource: string, hook: string): Promise<void> {
  await tried(() => ask("POST", resourcePath(of.name, of.id, resource, "/signal"), { unset_hook: hook }), `The hook of ${resource} is cleared.`, of);
}

export function cancel(summary: Summary, of: StackContext, without = false): void {
  const back = !without && !summary.stack.disable_rollback;
  show({
    title: `Cancel the ${summary.operation?.action.toLowerCase() ?? "operation"} of ${summary.stack.name}?`,
    confirm: "Cancel it",
    danger: true,
    content: () => html`<p>What has begun is finished; nothing more is begun.</p>
      <p>${back ? html`Then the stack goes back to what it was${summary.rollback_generation ? ` in generation ${summary.rollback_generation}` : ""}.` : "The stack stays as it is then. An update brings it further."}</p>`,
    done: () => act(summary, of, without ? "cancel_without_rollback" : "cancel_update"),
  });
}

export function rollBack(summary: Summary, of: StackContext): void {
  const back = summary.rollback_generation;
  show({
    title: `Roll back ${summary.stack.name}?`,
    confirm: back ? `Roll back to generation ${back}` : "Roll back",
    danger: true,
    content: () => html`<p>${back
      ? html`The stack goes back to generation ${back}, the last that was complete. What was made since then is deleted, and what was replaced is used again.`
      : "Nothing was ever complete here: what was made is deleted."}</p>`,
    done: () => act(summary, of, "roll_back"),
  });
}

/** Go on with the input that the stack has: all that has failed, was not reached or was left out, or single resources. */
export function retry(summary: Summary, of: StackContext, resources: string[] = []): void {
  const left = summary.left_out.total;
  const failed = summary.counts.FAILED ?? 0;
  const found = [failed ? `${count(failed)} failed` : "", left ? `${count(left)} left out` : ""].filter(Boolean).join(", ");
  show({
    title: resources.length === 1 ? `Go on with ${resources[0]}?` : `Go on with ${summary.stack.name}?`,
    confirm: "Try again",
    content: () => html`<p>The stack keeps its template and its values. ${resources.length ? html`${resources.join(", ")} and what ${resources.length === 1 ? "it needs" : "they need"} are visited; nothing else is.`
      : "What failed, was not reached or was left out is visited; what is complete is not touched."}${found && !resources.length ? html` <span class="muted">Now: ${found}.</span>` : nothing}</p>`,
    done: async () => {
      await ask("POST", stackPath(of.name, of.id, "/actions"), { retry: resources.length ? { resources } : null }, ifGeneration(summary.stack.generation));
      of.again();
    },
  });
}

/** Take a resource out of its stack; its object stays. */
export function forget(summary: Summary, of: StackContext, resource: string): void {
  show({
    title: `Forget ${resource}?`,
    confirm: "Forget it",
    danger: true,
    content: () => html`<p>The resource leaves the stack and its template. Its object stays in the cloud and is not touched, also if it is protected.</p>
      <p class="muted">Take it out of your own copy of the template too: an update with that copy makes a new object.</p>`,
    done: async () => {
      await ask("POST", resourcePath(of.name, of.id, resource, "/forget"), undefined, ifGeneration(summary.stack.generation));
      notify(`${resource} is being forgotten.`);
      of.again();
    },
  });
}

/** Delete or abandon: the name must be typed. */
export function remove(summary: Summary, of: StackContext, abandon = false): void {
  let typed = "";
  const { name } = summary.stack;
  const n = summary.tree?.total ?? summary.total;
  show({
    title: abandon ? `Abandon ${name}?` : `Delete ${name}?`,
    confirm: abandon ? "Abandon this stack" : "Delete this stack",
    danger: true,
    ready: () => typed === name,
    content: () => html`<p>${abandon
        ? html`Isotherm forgets this stack. Its ${plural(n, "resource")} stay in the cloud, unmanaged.`
        : html`${plural(n, "resource")} ${n === 1 ? "is" : "are"} deleted in the cloud${summary.tree ? `, in ${plural(summary.tree.stacks, "stack")}` : ""}. This cannot be undone.`}</p>
      <label class="field"><span>Type <b>${name}</b> to go on</span>
        <input class="input" autofocus autocomplete="off" @input=${(event: Event) => {
          typed = (event.target as HTMLInputElement).value;
          refresh();
        }}></label>`,
    done: async () => {
      await ask("DELETE", stackPath(of.name, of.id, abandon ? "/abandon" : ""), undefined, abandon ? {} : ifGeneration(summary.stack.generation));
      notify(abandon ? `${name} is abandoned.` : `${name} is being deleted.`);
      if (abandon) go(HOME);
      else of.again();
    },
  });
}

export function snapshot(of: StackContext, done: () => void = () => undefined): void {
  let name = "";
  show({
    title: "Take a snapshot",
    confirm: "Take it",
    content: () => html`<p>Volumes and servers are copied where their types can do so; the template and all values are kept.</p>
      <label class="field"><span>Name</span><input class="input" autofocus @input=${(event: Event) => (name = (event.target as HTMLInputElement).value)}></label>`,
    done: async () => {
      await ask("POST", stackPath(of.name, of.id, "/snapshots"), name ? { name } : {});
      of.again();
      done();
    },
  });
}

export function signal(of: StackContext, resource: string): void {
  let text = "";
  let wrong = "";
  show({
    title: `Signal ${resource}`,
    confirm: "Send",
    ready: () => !wrong,
    content: () => html`<p>A signal tells the resource that something outside has happened. The content depends on its type.</p>
      <label class="field"><span>Content, as JSON; may be empty</span>
        <textarea class="input mono" rows="6" autofocus placeholder='{"status": "SUCCESS"}' @input=${(event: Event) => {
          text = (event.target as HTMLTextAreaElement).value;
          try {
            if (text.trim()) JSON.parse(text);
            wrong = "";
          } catch {
            wrong = "This is not JSON yet.";
          }
          refresh();
        }}></textarea></label>${wrong ? html`<p class="muted small">${wrong}</p>` : nothing}`,
    done: async () => {
      await ask("POST", resourcePath(of.name, of.id, resource, "/signal"), text.trim() ? JSON.parse(text) : undefined);
      notify(`${resource} was signalled.`);
      of.again();
    },
  });
}

export function unhealthy(of: StackContext, resource: string): void {
  let reason = "";
  show({
    title: `Mark ${resource} unhealthy?`,
    confirm: "Mark it unhealthy",
    danger: true,
    content: () => html`<p>The next update replaces it by a new one. Nothing happens before that.</p>
      <label class="field"><span>Reason</span><input class="input" autofocus @input=${(event: Event) => (reason = (event.target as HTMLInputElement).value)}></label>`,
    done: async () => {
      await ask("PATCH", resourcePath(of.name, of.id, resource), { mark_unhealthy: true, resource_status_reason: reason });
      of.again();
    },
  });
}

interface ToRepair {
  resource_name: string;
  drift: string;
  properties?: DriftedProperty[];
}

const SHOWN = 12;

/** Repair all that drifted, or single resources: an update of the stack to its own input. Shows its plan first. */
export function repair(summary: Summary, of: StackContext, resources: string[], all: number): void {
  const n = resources.length || all;
  let plan: ToRepair[] | null = null;
  void get<{ drift: { resources?: ToRepair[] } }>(stackPath(of.name, of.id, "/drift")).then(({ drift }) => {
    plan = (drift.resources ?? []).filter((one) => (one.drift === "drifted" || one.drift === "gone") && (!resources.length || resources.includes(one.resource_name)));
    refresh();
  }, () => undefined);
  show({
    title: resources.length === 1 ? `Repair ${resources[0]}?` : "Repair what drifted?",
    confirm: `Repair ${plural(n, "resource")}`,
    content: () => html`<p>${resources.length ? html`${resources.join(", ")} ${n === 1 ? "is" : "are"} changed back` : "All that drifted is changed back"} to what the
        template says. What depends on it follows. This is an update with a generation of its own.</p>
      ${plan ? html`<ul class="plain-list repair-plan" aria-label="What it would do">${plan.slice(0, SHOWN).map(repaired)}
        ${plan.length > SHOWN ? html`<li class="muted">and ${plural(plan.length - SHOWN, "more resource")}</li>` : nothing}</ul>` : html`<p class="muted">Reading what it would do…</p>`}`,
    done: async () => {
      await ask("POST", stackPath(of.name, of.id, "/repair"), resources.length ? { resources } : {}, ifGeneration(summary.stack.generation));
      notify("The repair has begun.");
      of.again();
    },
  });
}

function repaired(one: ToRepair): TemplateResult {
  const gone = one.drift === "gone";
  return html`<li><span class="sign ${gone ? "a-create" : "a-update"}" aria-hidden="true">${gone ? "+" : "~"}</span>
    <div><b>${clip(one.resource_name, 120)}</b> <span class="muted">${gone ? "is gone from the cloud, and made again" : ""}</span>
    ${(one.properties ?? []).slice(0, 8).map((property) => html`<div class="mono change wrap">${property.property} <del>${clip(value(property.live), 120)}</del>
      <span aria-hidden="true">→</span><span class="sr-only"> becomes </span> <ins>${clip(value(property.wanted), 120)}</ins></div>`)}</div></li>`;
}
