// The frame of every page: name, places, search, link to the service, user, notices.

import { connection, now, session } from "./api/client.ts";
import { app, dismiss, notices, type Page } from "./app.ts";
import { go, HOME, withQuery } from "./router.ts";
import { apply, choose, chosen } from "./theme.ts";
import { show as showDialog, view as dialog } from "./view/dialog.ts";
import { moment } from "./view/format.ts";
import { html, nothing, type TemplateResult } from "./view/html.ts";
import { logo } from "./view/logo.ts";
import { menu, type Item } from "./view/menu.ts";

const LINKS: Record<string, [string, string]> = {
  live: ["live", "Changes are shown as they happen."],
  polling: ["every 5 s", "There is no stream now; the page asks every five seconds."],
  connecting: ["connecting", "The stream is being opened."],
  lost: ["connecting again", "The stream ended and is being opened again."],
  resting: ["resting", "The tab was hidden."],
};

export function shell(page: Page, place: string): TemplateResult {
  return html`
    <a class="skip" href="#main" @click=${(event: Event) => {
      event.preventDefault();
      document.getElementById("main")?.focus();
    }}>Skip to the content</a>
    <header class="top">
      <a class="brand" href=${HOME} aria-label="Isotherm, list of stacks">${logo()}<b>Isotherm</b></a>
      <nav class="places" aria-label="Places">
        <a href=${HOME} aria-current=${place === "stacks" || place === "stack" ? "page" : "false"}>Stacks</a>
        <a href=${`${HOME}create`} aria-current=${place === "create" ? "page" : "false"}>Create</a>
        ${app.session?.operator ? html`<a href=${`${HOME}service`} aria-current=${place === "service" ? "page" : "false"}>Service</a>` : nothing}
      </nav>
      <span class="grow"></span>
      <form class="finder" role="search" @submit=${find}><input class="input" id="find" type="search" placeholder="Find a stack" aria-label="Find a stack" aria-keyshortcuts="/"><kbd aria-hidden="true">/</kbd></form>
      ${connection.online && app.link && app.link !== "gone" ? html`<span class="link-state l-${app.link}" title=${LINKS[app.link]?.[1] ?? ""}><i aria-hidden="true"></i>${LINKS[app.link]?.[0] ?? app.link}</span>` : nothing}
      <span class="project muted">project <b>${app.session?.project_name ?? ""}</b></span>
      ${menu("user", app.session?.user ?? "", userItems())}
    </header>
    ${connection.online ? nothing : html`<div class="offline" role="alert">No connection since ${moment(connection.lastSeen || now(), now())}. What was last seen is shown; nothing can be changed now.</div>`}
    <main id="main" tabindex="-1" class=${connection.online ? "" : "is-offline"}>${page.view()}</main>
    <div class="notices" role="status">${notices.map((one) => html`<div class="notice ${one.bad ? "bad" : ""}"><span class="wrap">${one.text}</span>
      <button class="close" aria-label="Close" @click=${() => dismiss(one.id)}>✕</button></div>`)}</div>
    ${dialog()}`;
}

function find(event: Event): void {
  event.preventDefault();
  const input = document.getElementById("find") as HTMLInputElement;
  go(withQuery(HOME, { q: input.value.trim() }));
}

function userItems(): Item[] {
  const theme = (name: "system" | "light" | "dark", words: string): Item => ({
    words: `${chosen() === name ? "✓ " : ""}${words}`,
    act: () => {
      choose(name);
      apply();
    },
  });
  return [
    theme("system", "Colours of the system"),
    theme("light", "Light"),
    theme("dark", "Dark"),
    { words: "Keys", act: help },
    {
      words: "Log out",
      act: () => void session.end().finally(() => location.assign(HOME)),
    },
  ];
}

const KEYS: [string, string][] = [
  ["/", "search"],
  ["j, k", "next and previous row"],
  ["arrows", "in the graph: along its lines, and through its list"],
  ["Enter", "open the row, the group or the nested stack"],
  ["Esc", "close the drawer, the group or the dialog"],
  ["+, −, 0", "zoom the graph, show all of it"],
  ["?", "this list"],
];

export function help(): void {
  showDialog({
    title: "Keys",
    content: () => html`<dl class="keys">${KEYS.map(([key, words]) => html`<dt><kbd>${key}</kbd></dt><dd>${words}</dd>`)}</dl>
      <p class="muted small">Isotherm ${app.version}</p>`,
  });
}
