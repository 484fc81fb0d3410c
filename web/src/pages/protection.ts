// Protection of a stack and of the objects of its resources: what protects them, protect more, lift it.

import { ask, get, resourcePath, stackPath } from "../api/client.ts";
import type { Protection, ProtectionOf } from "../api/types.ts";
import { notify, refresh } from "../app.ts";
import { show } from "../view/dialog.ts";
import { clip } from "../view/format.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { icon } from "../view/states.ts";
import type { StackContext } from "./tab.ts";

/** Say what an object is protected from, and by whom: `from replace, delete by its template and user alice`. */
export function protectedFrom(one: ProtectionOf): string {
  const by = [one.template.length ? "its template" : "", one.user ? `user ${one.user.name}` : ""].filter(Boolean).join(" and ");
  return `from ${one.protect.join(", ")} by ${by}`;
}

/** Show what protects a stack and its resources, with the buttons that change it. */
export function ofStack(of: StackContext): void {
  let wrong = "";
  const path = stackPath(of.name, of.id, "/protection");
  const found = new Loader<Protection>("the protection", async (signal) => (await get<{ protection: Protection }>(path, {}, signal)).protection);
  void found.load();
  const change = async (method: string, place: string, body?: unknown): Promise<void> => {
    wrong = "";
    try {
      await ask(method, place, body);
    } catch (error) {
      wrong = (error as Error).message;
    }
    of.again();
    void found.load();
  };
  const button = (words: string, may: string, act: () => Promise<void>, name = words): TemplateResult => {
    const summary = of.summary();
    const not = summary?.may.includes(may) ? "" : (summary?.may_not[may]?.text ?? "Not possible now.");
    return html`<button class="button small" type="button" aria-label=${name} ?disabled=${Boolean(not)} title=${not} @click=${() => void act()}>${words}</button>`;
  };
  show({
    title: `Protection of ${of.name}`,
    content: () => found.view((now) => html`<p>A protected stack can be updated, and is not deleted, abandoned or forgotten. A stack with a resource that is protected from delete is not deleted either.</p>
      <ul class="plain-list protection" aria-label="Protected">
        <li>${icon(now.protected ? "LOCKED" : "PENDING")}<span><b>The stack</b> <span class="muted wrap">${now.protected ? `from delete by user ${now.by ?? ""}` : "is not protected by itself"}</span></span>
          ${now.protected ? button("Lift", "unprotect", () => change("DELETE", path), "Lift the protection of the stack") : button("Protect", "protect", () => change("PUT", path, { protect: ["delete"] }), "Protect the stack")}</li>
        ${now.resources.map((one) => html`<li>${icon("LOCKED")}<span><b class="wrap">${clip(one.resource_name, 120)}</b> <span class="muted wrap">${protectedFrom(one)}</span></span>
          ${button("Lift", "unprotect", () => change("DELETE", resourcePath(of.name, of.id, one.resource_name, "/protection")), `Lift the protection of ${one.resource_name}`)}</li>`)}</ul>
      ${now.resources.length ? nothing : html`<p class="muted small">No resource is protected. A resource is protected in its drawer, or by its template.</p>`}
      ${wrong ? html`<p class="error-text wrap" role="alert">${wrong}</p>` : nothing}`),
  });
}

const LEVELS: [word: string, words: string][] = [
  ["replace", "It is not replaced by another object."],
  ["delete", "It is not deleted either."],
  ["update", "It is not changed at all: no update in place, no suspend."],
];

export function protect(of: StackContext, resource: string, done: () => void): void {
  let level = "delete";
  show({
    title: `Protect ${resource}?`,
    confirm: "Protect it",
    content: () => html`<p>An operation that would break the protection fails before it asks the cloud for anything. It holds at once, also for the operation in progress.</p>
      <fieldset class="choices"><legend class="sr-only">From what</legend>${LEVELS.map(([word, words]) => html`<label class="check"><input type="radio" name="protect" value=${word} .checked=${level === word} @change=${() => {
        level = word;
        refresh();
      }}> <span><b>${word}</b> <span class="muted">${words}</span></span></label>`)}</fieldset>`,
    done: async () => {
      await ask("PUT", resourcePath(of.name, of.id, resource, "/protection"), { protect: [level] });
      notify(`${resource} is protected from ${level}.`);
      of.again();
      done();
    },
  });
}

export function lift(of: StackContext, one: ProtectionOf, done: () => void): void {
  show({
    title: `Lift the protection of ${one.resource_name}?`,
    confirm: "Lift it",
    danger: true,
    content: () => html`<p class="wrap">It is protected ${protectedFrom(one)}. After this, nothing protects it.</p>
      ${one.template.length ? html`<p>Its template asks for protection too: the next update by a user with that template protects it again.</p>` : nothing}`,
    done: async () => {
      await ask("DELETE", resourcePath(of.name, of.id, one.resource_name, "/protection"));
      notify(`${one.resource_name} is not protected any more.`);
      of.again();
      done();
    },
  });
}
