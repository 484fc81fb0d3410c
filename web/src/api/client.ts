// Requests to the service: the header that the cookie needs, errors as sentences, the clock of the service.

import type { Session, SessionAnswer } from "./types.ts";

/** An answer that is not a success. `status` 0: no connection. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly type = "",
    readonly request = "",
  ) {
    super(message);
  }
}

export interface Answer<T> {
  body: T;
  status: number;
}

interface Connection {
  online: boolean;
  lastSeen: number;
  listeners: Set<() => void>;
}

export const HEADERS = { "X-Isotherm-Page": "1", Accept: "application/json" };
export const connection: Connection = { online: true, lastSeen: 0, listeners: new Set() };

let project = "default";
let clockOffset = 0;
let onLoggedOut: () => void = () => undefined;

/** The time of the service, in seconds. The clock of the browser may be wrong. */
export function now(): number {
  return Date.now() / 1000 + clockOffset;
}

export function setClock(serverNow: number): void {
  clockOffset = serverNow - Date.now() / 1000;
}

export function useSession(session: Session, loggedOut: () => void): void {
  project = session.project;
  onLoggedOut = loggedOut;
}

/** Return the address of a path below the project. */
export function address(path: string, query: Record<string, string | number | boolean | string[] | undefined | null> = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) value.forEach((one) => given.append(name, one));
    else if (value !== undefined && value !== null && value !== "" && value !== false) given.set(name, String(value));
  }
  const text = given.toString();
  return `/v1/${encodeURIComponent(project)}${path}${text ? `?${text}` : ""}`;
}

/** Return the path of a stack below the project. */
export function stackPath(name: string, id: string, rest = ""): string {
  return `/stacks/${encodeURIComponent(name)}/${encodeURIComponent(id)}${rest}`;
}

export function resourcePath(name: string, id: string, resource: string, rest = ""): string {
  return stackPath(name, id, `/resources/${encodeURIComponent(resource)}${rest}`);
}

function seen(online: boolean): void {
  if (online) connection.lastSeen = Date.now() / 1000;
  if (connection.online === online) return;
  connection.online = online;
  connection.listeners.forEach((listener) => listener());
}

/** Note whether the service was reached: requests and streams both tell. */
export function reached(online: boolean): void {
  seen(online);
}

/** Fetch, with the page's header; raise a `Refusal` for anything but a success. */
export async function request(url: string, options: RequestInit = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, { credentials: "same-origin", ...options, headers: { ...HEADERS, ...options.headers } });
  } catch (error) {
    if ((error as Error).name !== "AbortError") seen(false);
    throw (error as Error).name === "AbortError" ? error : new Refusal(0, "No connection to the service.");
  }
  if (answer.status === 502 || answer.status === 504) {
    seen(false);
    throw new Refusal(answer.status, "The service does not answer.");
  }
  seen(true);
  if (answer.ok) return answer;
  if (answer.status === 401 && !url.startsWith("/ui/session")) onLoggedOut();
  throw await refusal(answer);
}

async function refusal(answer: Response): Promise<Refusal> {
  const id = answer.headers.get("X-Openstack-Request-Id") ?? "";
  const text = await answer.text();
  try {
    const body = JSON.parse(text) as { error?: { message?: string; type?: string }; explanation?: string; message?: string };
    const message = body.error?.message || body.explanation || body.message || answer.statusText;
    return new Refusal(answer.status, message, body.error?.type ?? "", id);
  } catch {
    return new Refusal(answer.status, `The service answered ${answer.status}.`, "", id);
  }
}

/** Ask for JSON below the project. */
export async function ask<T>(method: string, path: string, body?: unknown, options: Ask = {}): Promise<T> {
  const headers: Record<string, string> = { ...options.headers };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await request(address(path, options.query), {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(options.signal ? { signal: options.signal } : {}),
  });
  const text = await answer.text();
  if (!text || !(answer.headers.get("Content-Type") ?? "").includes("json")) return null as T;
  return JSON.parse(text) as T;
}

export interface Ask {
  query?: Record<string, string | number | boolean | string[] | undefined | null>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export function get<T>(path: string, query: NonNullable<Ask["query"]> = {}, signal?: AbortSignal): Promise<T> {
  return ask<T>("GET", path, undefined, { query, ...(signal ? { signal } : {}) });
}

/** The header by which a change is refused when a newer operation was accepted meanwhile. */
export function ifGeneration(generation: number): Ask {
  return { headers: { "If-Match": `"${generation}"` } };
}

export const session = {
  async read(): Promise<SessionAnswer> {
    return (await request("/ui/session")).json() as Promise<SessionAnswer>;
  },
  async begin(body: Record<string, string>): Promise<Session> {
    const answer = await request("/ui/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    return ((await answer.json()) as { session: Session }).session;
  },
  async end(): Promise<void> {
    await request("/ui/session", { method: "DELETE" });
  },
};
