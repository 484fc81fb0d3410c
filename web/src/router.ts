// The address is the state of the view: page, tab, filters, selection. A link shows what its sender sees.

export const TABS = ["graph", "resources", "timeline", "history", "events", "drift", "outputs", "parameters", "template", "snapshots"] as const;
export type Tab = (typeof TABS)[number];

export type Route =
  | { page: "stacks" }
  | { page: "stack"; name: string; id: string; tab: Tab }
  | { page: "update"; name: string; id: string }
  | { page: "create" }
  | { page: "service" }
  | { page: "missing" };

export const HOME = "/ui/";

/** Return the route of a path below `/ui/`. */
export function parse(path: string): Route {
  const parts = path.replace(/^\/ui\/?/, "").replace(/\/$/, "").split("/").filter(Boolean).map(decoded);
  const [first, name, id, tab] = parts;
  if (first === undefined) return { page: "stacks" };
  if (parts.length === 1 && first === "create") return { page: "create" };
  if (parts.length === 1 && first === "service") return { page: "service" };
  if (first === "stacks" && name && id && parts.length <= 4) {
    if (tab === "update") return { page: "update", name, id };
    if (tab === undefined || TABS.includes(tab as Tab)) return { page: "stack", name, id, tab: (tab ?? "graph") as Tab };
  }
  return { page: "missing" };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function stackHref(name: string, id: string, tab = "", query: Record<string, string | undefined> = {}): string {
  const path = `${HOME}stacks/${encodeURIComponent(name)}/${encodeURIComponent(id)}${tab ? `/${tab}` : ""}`;
  return withQuery(path, query);
}

export function withQuery(path: string, query: Record<string, string | undefined>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) given.set(name, value);
  const text = given.toString();
  return text ? `${path}?${text}` : path;
}

export function query(name: string): string {
  return new URLSearchParams(location.search).get(name) ?? "";
}

type Listener = () => void;
const listeners = new Set<Listener>();

export function onChange(listener: Listener): void {
  listeners.add(listener);
}

/** Go to an address of the page. */
export function go(href: string, replace = false): void {
  if (href === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", href);
  listeners.forEach((listener) => listener());
}

/** Change parts of the query: an empty value removes its name. */
export function setQuery(changes: Record<string, string>, replace = true): void {
  const given = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) given.set(name, value);
    else given.delete(name);
  }
  const text = given.toString();
  go(text ? `${location.pathname}?${text}` : location.pathname, replace);
}

/** Follow links of the page without loading it again. */
export function listen(): void {
  window.addEventListener("popstate", () => listeners.forEach((listener) => listener()));
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.composedPath().find((one): one is HTMLAnchorElement => one instanceof HTMLAnchorElement);
    if (!link || link.target || link.hasAttribute("download") || !link.href || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(HOME)) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
