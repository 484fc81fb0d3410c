// The states of resources, each with a word, a colour and a shape, so that colour is never the only sign.

import { svg, type TemplateResult } from "./html.ts";

export const STATES = ["DONE", "RUNNING", "WAITING", "SCHEDULED", "SKIPPED", "PENDING", "FAILED"] as const;
export type State = (typeof STATES)[number];
export type Tone = State | "DRIFTED" | "RESTING" | "LOCKED";

export const WORDS: Record<Tone, string> = {
  PENDING: "waits",
  SCHEDULED: "ready",
  RUNNING: "running",
  WAITING: "waits for the cloud",
  DONE: "done",
  FAILED: "failed",
  SKIPPED: "left out",
  DRIFTED: "drifted",
  RESTING: "suspended",
  LOCKED: "protected",
};

/** The words after a number: `13 wait`, `1 waits for the cloud`. */
export function counted(state: State, n: number): string {
  if (state === "PENDING") return n === 1 ? "waits" : "wait";
  if (state === "WAITING") return n === 1 ? "waits for the cloud" : "wait for the cloud";
  return WORDS[state];
}

/** Whether a resource that is done was marked unhealthy: the next update replaces it. */
export function isUnhealthy(one: { state: State; status: string }): boolean {
  return one.state === "DONE" && one.status === "FAILED";
}

/** What waits at a hook waits for the user, not for the cloud. */
export const WAITS_FOR_USER = "waits for you";

/** Say how many are in a state; of those that wait for something outside, how many wait at hooks. */
export function numbered(state: State, n: number, hooks = 0): [n: number, words: string][] {
  const held = state === "WAITING" ? Math.min(hooks, n) : 0;
  const found: [number, string][] = [[n - held, counted(state, n - held)], [held, held === 1 ? WAITS_FOR_USER : "wait for you"]];
  return found.filter(([some]) => some > 0);
}

/** One stroke or area of a shape, in a square of 16. `ink` is drawn in the colour of the background. */
export interface Part {
  d: string;
  stroke?: number;
  dash?: [number, number];
  faint?: boolean;
  ink?: boolean;
}

const RING = "M14 8A6 6 0 1 1 2 8A6 6 0 1 1 14 8Z";
const DISC = "M15 8A7 7 0 1 1 1 8A7 7 0 1 1 15 8Z";

export const SHAPES: Record<Tone, Part[]> = {
  PENDING: [{ d: RING, stroke: 1.6, dash: [2.2, 2.5] }],
  SCHEDULED: [{ d: RING, stroke: 1.6 }, { d: "M6.4 5.2L11 8L6.4 10.8Z" }],
  RUNNING: [{ d: RING, stroke: 2, faint: true }, { d: "M8 2A6 6 0 0 1 14 8", stroke: 2.6 }],
  WAITING: [{ d: RING, stroke: 1.8 }, { d: "M8 4.6V8L10.4 9.6", stroke: 1.6 }],
  DONE: [{ d: DISC }, { d: "M4.8 8.3L7.1 10.6L11.3 5.8", stroke: 1.8, ink: true }],
  FAILED: [{ d: "M5.1 1H10.9L15 5.1V10.9L10.9 15H5.1L1 10.9V5.1Z" }, { d: "M5.6 5.6L10.4 10.4M10.4 5.6L5.6 10.4", stroke: 1.8, ink: true }],
  SKIPPED: [{ d: RING, stroke: 1.6 }, { d: "M5 8H11", stroke: 1.8 }],
  DRIFTED: [{ d: "M8 1.4L15.3 14.2H.7Z" }, { d: "M8 6V9.8M8 11.4V12.6", stroke: 1.7, ink: true }],
  RESTING: [{ d: RING, stroke: 1.6 }, { d: "M6.4 5.6V10.4M9.6 5.6V10.4", stroke: 1.6 }],
  LOCKED: [{ d: "M3 7H13V14H3Z" }, { d: "M5.2 7V5A2.8 2.8 0 0 1 10.8 5V7", stroke: 1.8 }, { d: "M8 9.4V11.6", stroke: 1.6, ink: true }],
};

/** Draw the shape of a state. `label` is read by screen readers; without it the shape is decoration. */
export function icon(tone: Tone, label?: string): TemplateResult {
  const parts = SHAPES[tone].map((part) => svg`<path d=${part.d} fill=${part.stroke ? "none" : "currentColor"}
    class=${part.ink ? "ink" : part.faint ? "faint" : ""} stroke=${part.stroke ? "currentColor" : "none"}
    stroke-width=${part.stroke ?? 0} stroke-dasharray=${part.dash ? part.dash.join(" ") : "none"}></path>`);
  return svg`<svg class="icon t-${tone.toLowerCase()}" viewBox="0 0 16 16" role=${label ? "img" : "presentation"}
    aria-label=${label ?? ""} aria-hidden=${label ? "false" : "true"}>${parts}</svg>`;
}

export type Counts = Partial<Record<State, number>>;

/** Return the state that says most about a group: what failed first, then what is at work, then what waits. */
export function leading(counts: Counts): State {
  const order: State[] = ["FAILED", "RUNNING", "WAITING", "SCHEDULED", "PENDING", "SKIPPED", "DONE"];
  return order.find((state) => (counts[state] ?? 0) > 0) ?? "DONE";
}

export function total(counts: Counts): number {
  return STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}

/** Return the tone and the words of a status such as `UPDATE_IN_PROGRESS`. */
export function ofStatus(status: string): { tone: Tone; words: string } {
  const words = status.charAt(0) + status.slice(1).toLowerCase().replaceAll("_", " ");
  if (status.endsWith("_FAILED")) return { tone: "FAILED", words };
  if (status.endsWith("_IN_PROGRESS")) return { tone: "RUNNING", words };
  if (status === "SUSPEND_COMPLETE") return { tone: "RESTING", words };
  if (status.startsWith("INIT_")) return { tone: "PENDING", words: "Not begun" };
  return { tone: "DONE", words };
}
