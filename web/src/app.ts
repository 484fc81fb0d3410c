// What all pages share: drawing when something changed, one sentence for screen readers, short notices, the session.

import type { Session } from "./api/types.ts";

export const app: {
  session: Session | null;
  login: "code" | "keystone";
  version: string;
  loggedOut: boolean;
  link: string;
} = { session: null, login: "code", version: "", loggedOut: false, link: "" };

let draw: () => void = () => undefined;
let wanted = false;

export function drawWith(how: () => void): void {
  draw = how;
}

/** Draw the page with the next frame. Hidden tabs get no frames, so nothing is drawn in them. */
export function refresh(): void {
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(() => {
    wanted = false;
    draw();
  });
}

/** Draw now, for what must be in the document before the next line: focus, measurements. */
export function refreshNow(): void {
  draw();
}

const SPOKEN_EVERY_MS = 5000;
let spokenAt = 0;
let waiting = "";
let speaker = 0;

/** Tell screen readers a sentence; at most one in five seconds, the newest. */
export function speak(sentence: string): void {
  waiting = sentence;
  if (speaker) return;
  speaker = window.setTimeout(() => {
    speaker = 0;
    spokenAt = Date.now();
    const region = document.getElementById("spoken");
    if (region) region.textContent = waiting;
  }, Math.max(0, spokenAt + SPOKEN_EVERY_MS - Date.now()));
}

export interface Notice {
  text: string;
  bad: boolean;
  id: number;
}

export const notices: Notice[] = [];
const SHOWN_MS = 6000;
let counter = 0;

/** Show a sentence at the edge of the page for some seconds; failures stay until they are closed. */
export function notify(text: string, bad = false): void {
  counter += 1;
  const notice = { text, bad, id: counter };
  notices.push(notice);
  if (!bad) window.setTimeout(() => dismiss(notice.id), SHOWN_MS);
  refresh();
}

export function dismiss(id: number): void {
  const at = notices.findIndex((one) => one.id === id);
  if (at >= 0) notices.splice(at, 1);
  refresh();
}

/** A page or a tab: draws itself, and ends its streams when it is left. */
export interface Page {
  view(): unknown;
  /** The address changed within the page. */
  moved?(): void;
  leave(): void;
  title(): string;
  /** Handle a key; true if it was used. */
  key?(event: KeyboardEvent): boolean;
}
