// The start: take the code from the address, read the session, then show the page of the address.

import { connection, session, useSession } from "./api/client.ts";
import type { Session } from "./api/types.ts";
import { app, drawWith, refresh, type Page } from "./app.ts";
import { LaterPage } from "./pages/later.ts";
import { login } from "./pages/login.ts";
import { missing } from "./pages/missing.ts";
import { ServicePage } from "./pages/service.ts";
import { StackPage } from "./pages/stack.ts";
import { StacksPage } from "./pages/stacks.ts";
import { listen, onChange, parse, query, setQuery, type Route } from "./router.ts";
import { help, shell } from "./shell.ts";
import { apply } from "./theme.ts";
import { isOpen } from "./view/dialog.ts";
import { html, nothing, render } from "./view/html.ts";
import { closeMenus } from "./view/menu.ts";

const code = takeCode();
apply();

let page: Page | null = null;
let place = "";
let shown = "";
let loginFailed = "";
const root = document.getElementById("app") as HTMLElement;

/** The code is good once; it leaves the address before anything else happens. */
function takeCode(): string {
  const found = /^#code=([\w-]+)$/.exec(location.hash)?.[1] ?? "";
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  return found;
}

function make(route: Route): Page {
  switch (route.page) {
    case "stacks": return new StacksPage();
    case "stack": return new StackPage(route);
    case "update": return new LaterPage(`Update ${route.name}`, async () => {
      const { UpdatePage } = await import("./pages/changing.ts");
      return () => new UpdatePage(route.name, route.id);
    });
    case "create": return new LaterPage("Create a stack", async () => {
      const { CreatePage } = await import("./pages/changing.ts");
      return () => new CreatePage();
    });
    case "service": return new ServicePage();
    case "missing": return missing();
  }
}

function navigate(): void {
  const route = parse(location.pathname);
  place = route.page;
  const key = "id" in route ? `${route.page} ${route.id}` : route.page;
  if (page && key === shown) {
    if (page instanceof StackPage && route.page === "stack") page.show(route.tab);
    else page.moved?.();
  } else {
    page?.leave();
    app.link = "";
    page = make(route);
    if (shown) requestAnimationFrame(() => document.getElementById("main")?.focus({ preventScroll: true }));
    shown = key;
  }
  refresh();
}

function begin(found: Session): void {
  const first = page === null;
  app.session = found;
  app.loggedOut = false;
  loginFailed = "";
  useSession(found, () => {
    if (app.loggedOut) return;
    app.loggedOut = true;
    refresh();
  });
  if (first) navigate();
  else page?.moved?.();
  refresh();
}

function draw(): void {
  document.title = page ? `${page.title()} · Isotherm` : "Isotherm";
  render(html`${page && app.session ? shell(page, place) : nothing}${!app.session || app.loggedOut ? login(begin, loginFailed, page !== null) : nothing}`, root);
  if (!document.body.dataset["ready"]) {
    document.body.dataset["ready"] = "yes";
    document.getElementById("starting")?.remove();
  }
}

function typing(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0] as HTMLElement;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

function keys(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || isOpen()) return;
  if (event.key === "Escape") {
    if (closeMenus()) return;
    if (typing(event)) return (event.target as HTMLElement).blur();
    if (query("r")) setQuery({ r: "" });
    else if (query("open")) setQuery({ open: "" });
    return;
  }
  if (typing(event)) return;
  if (event.key === "/") {
    event.preventDefault();
    (document.getElementById("search") ?? document.getElementById("find"))?.focus();
  } else if (event.key === "?") help();
  else if (page?.key?.(event)) event.preventDefault();
}

async function start(): Promise<void> {
  drawWith(draw);
  listen();
  onChange(navigate);
  connection.listeners.add(refresh);
  document.addEventListener("keydown", keys);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
  try {
    if (code) {
      try {
        begin(await session.begin({ code }));
        return;
      } catch (error) {
        loginFailed = (error as Error).message;
      }
    }
    const answer = await session.read();
    app.login = answer.login;
    app.version = answer.version;
    if (answer.session) begin(answer.session);
  } catch (error) {
    loginFailed = (error as Error).message;
  }
  refresh();
}

void start();
