// What the rows of a timeline show, from the spans of the API. Pure: test/rows.test.ts.

import type { Span, Timeline } from "../api/types.ts";

export interface Bar {
  from: number;
  to: number;
  running: boolean;
  outcome: Span[7];
  action: string;
  ready: number | null;
  waits: number | null;
}

export interface TimeRow {
  name: string;
  type: string;
  critical: boolean;
  bars: Bar[];
  n: number;
}

/** Return a row for each resource, in the order in which they began; groups of left out ones last. */
export function rowsOf(timeline: Timeline, now: number): TimeRow[] {
  const critical = new Set(timeline.critical);
  const rows = new Map<string, TimeRow>();
  for (const [name, type, action, ready, began, waits, ended, outcome] of timeline.spans) {
    const row = rows.get(name) ?? { name, type, critical: critical.has(name), bars: [], n: 1 };
    const running = ended === null && timeline.operation.running;
    row.bars.push({ from: began, to: ended ?? (running ? now : (timeline.operation.ended ?? began)), running, outcome, action, ready, waits });
    rows.set(name, row);
  }
  const rest = timeline.groups.map((group): TimeRow => {
    const running = group.ended === null && timeline.operation.running;
    const outcome = group.outcomes["FAILED"] ? "FAILED" : running ? "IN_PROGRESS" : "COMPLETE";
    const bar: Bar = { from: group.began, to: group.ended ?? (running ? now : (timeline.operation.ended ?? group.began)), running, outcome, action: "", ready: null, waits: null };
    return { name: group.name, type: group.type, critical: false, bars: [bar], n: group.n };
  });
  return [...rows.values(), ...rest];
}

/** Choose the rows that say most: the critical path, what failed, then what took longest; in the order of their beginning. */
export function important(rows: readonly TimeRow[], most: number): TimeRow[] {
  const weight = (row: TimeRow): number => {
    const longest = Math.max(...row.bars.map((bar) => bar.to - bar.from));
    return (row.bars.some((bar) => bar.outcome === "FAILED") ? 2e12 : 0) + (row.critical ? 1e12 : 0) + longest;
  };
  const chosen = new Set([...rows].sort((a, b) => weight(b) - weight(a)).slice(0, most));
  return rows.filter((row) => chosen.has(row));
}

export function rangeOf(timeline: Timeline, rows: readonly TimeRow[], now: number): [number, number] {
  const bars = rows.flatMap((row) => row.bars);
  const from = Math.min(timeline.operation.began ?? Infinity, ...bars.map((bar) => bar.ready ?? bar.from));
  const to = timeline.operation.running ? now : Math.max(timeline.operation.ended ?? 0, ...bars.map((bar) => bar.to));
  return Number.isFinite(from) ? [from, Math.max(to, from + 0.5)] : [now - 1, now];
}
