// Logging in: by the link of `isotherm open`, or with the user and project of Keystone. Shown over the page when a session ends.

import { session } from "../api/client.ts";
import type { Session } from "../api/types.ts";
import { app, refresh } from "../app.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import { logo } from "../view/logo.ts";

let wrong = "";
let busy = false;

async function send(event: Event, done: (session: Session) => void): Promise<void> {
  event.preventDefault();
  const form = event.currentTarget as HTMLFormElement;
  const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]).filter(([, value]) => value)) as Record<string, string>;
  busy = true;
  wrong = "";
  refresh();
  try {
    // What is pasted may be the whole link.
    if (given["code"]) given["code"] = given["code"].replace(/^.*#code=/, "").trim();
    done(await session.begin(given));
  } catch (error) {
    wrong = (error as Error).message;
  }
  busy = false;
  refresh();
}

const FIELDS: [string, string, string, string][] = [
  ["user", "User", "username", ""],
  ["password", "Password", "current-password", ""],
  ["project", "Project", "off", ""],
  ["user_domain", "Domain of the user", "off", "Default"],
  ["project_domain", "Domain of the project", "off", "Default"],
];

export function login(done: (session: Session) => void, failed: string, over: boolean): TemplateResult {
  const keystone = app.login === "keystone";
  return html`<div class="login ${over ? "over" : ""}">
    <form class="card login-card" aria-labelledby="login-title" @submit=${(event: Event) => void send(event, done)}>
      <div class="login-brand">${logo()}<b>Isotherm</b></div>
      <h1 id="login-title">${over ? "Log in again" : "Log in"}</h1>
      ${over ? html`<p class="muted">Your session has ended. What you have written on this page is kept.</p>` : nothing}
      ${keystone
        ? FIELDS.map(([name, words, complete, preset]) => html`<label class="field"><span>${words}</span><input class="input" name=${name}
            type=${name === "password" ? "password" : "text"} autocomplete=${complete} value=${preset} ?required=${!preset} ?autofocus=${name === "user"}></label>`)
        : html`<p>On the machine of the service, run this and open the link that it prints. A link is good for one minute and for one time.</p>
          <pre class="mono command">isotherm open</pre>
          <label class="field"><span>Or paste the link or its code here</span><input class="input mono" name="code" autocomplete="off" required autofocus></label>`}
      ${wrong || failed ? html`<p class="error-text wrap" role="alert">${wrong || failed}</p>` : nothing}
      <button class="button primary wide" type="submit" ?disabled=${busy}>${busy ? "Logging in…" : "Log in"}</button>
    </form>
  </div>`;
}
