// Numbers, times and texts as people read them. All pure: test/format.test.ts.

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;

// Control characters other than tab and line feed, and characters that change the direction of text.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const ANY_UNSEEN = new RegExp(UNSEEN.source);

/** Show characters that have no picture of their own, or that turn text around, as their numbers. */
export function mark(text: string): string {
  if (!ANY_UNSEEN.test(text)) return text;
  return text.replace(UNSEEN, (one) => `‹${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/** Shorten a text that is longer than `most` characters, and say how much is left out. */
export function cut(text: string, most = 2000): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${count(text.length - most)} more characters)`;
}

/** Write a number with commas between thousands. */
export function count(n: number): string {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Write a number and its noun: `1 resource`, `2 resources`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Write a duration with at most two units: `48 s`, `1 m 52 s`, `3 h 2 m`, `4 days`. */
export function duration(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 1) return s === 0 ? "0 s" : s < 0.1 ? "< 0.1 s" : `${s.toFixed(1)} s`;
  if (s < 10) return `${s.toFixed(1).replace(/\.0$/, "")} s`;
  if (s < MINUTE) return `${Math.floor(s)} s`;
  if (s < HOUR) return two(Math.floor(s / MINUTE), "m", Math.floor(s % MINUTE), "s");
  if (s < DAY) return two(Math.floor(s / HOUR), "h", Math.floor((s % HOUR) / MINUTE), "m");
  return plural(Math.floor(s / DAY), "day");
}

function two(a: number, unitA: string, b: number, unitB: string): string {
  return b === 0 ? `${a} ${unitA}` : `${a} ${unitA} ${b} ${unitB}`;
}

/** Write how long ago something was; `now` and `then` in seconds. */
export function ago(then: number, now: number): string {
  const s = now - then;
  if (s < 5) return "just now";
  const unit = s < MINUTE ? 1 : s < HOUR ? MINUTE : HOUR;
  if (s < DAY) return `${duration(Math.floor(s / unit) * unit)} ago`;
  return s < 2 * DAY ? "yesterday" : `${duration(s)} ago`;
}

/** Read a time of the API (`2026-01-01T00:00:00Z`, or seconds) as seconds; null if there is none. */
export function seconds(time: string | number | null | undefined): number | null {
  if (time === null || time === undefined || time === "") return null;
  if (typeof time === "number") return time;
  const parsed = Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(time) ? time : `${time}Z`);
  return Number.isNaN(parsed) ? null : parsed / 1000;
}

/** Write a moment as the clock shows it; with the date if it was not today. */
export function moment(at: number, now: number): string {
  const then = new Date(at * 1000);
  const time = [then.getHours(), then.getMinutes(), then.getSeconds()].map((n) => String(n).padStart(2, "0")).join(":");
  const today = new Date(now * 1000);
  return then.toDateString() === today.toDateString() ? time : `${day(then)} ${time}`;
}

function day(date: Date): string {
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, "0")}-${String(date.getDate()).padStart(2, "0")}`;
}

/** Shorten a type for a narrow place: `OS::Nova::Server` becomes `Nova::Server`. */
export function shortType(type: string): string {
  return type.replace(/^OS::Heat::/, "").replace(/^OS::/, "");
}

/** Shorten a text to `most` characters with the end left out. */
export function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

/** Shorten a reason that begins with what stands beside it: `ValueError: resources.db: No quota` becomes `No quota`. */
export function plainReason(reason: string): string {
  return reason.replace(/^(?:Resource \w+ failed: )?(?:\w+: )?resources\.[^\s:]+: (?=\S)/, "");
}

/** Write any value of a property as one line of text. */
export function value(of: unknown): string {
  if (of === null || of === undefined) return "not set";
  if (typeof of === "string") return of === "" ? '""' : of;
  return JSON.stringify(of) ?? "not set";
}

/** Return the address if it is a link of the web, otherwise null: other schemes can run scripts. */
export function webLink(text: unknown): string | null {
  if (typeof text !== "string" || text.length > 2000 || !/^https?:\/\//i.test(text)) return null;
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

/** Write the size of a file. */
export function size(bytes: number): string {
  if (bytes < 1024) return plural(bytes, "byte");
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} kB` : `${(bytes / (1 << 20)).toFixed(1)} MB`;
}
