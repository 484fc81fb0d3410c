// A layered layout, left to right: longest path, barycentre sweeps, straightened lines. Pure: test/layout.test.ts.
//
// The layout depends on boxes and edges alone, never on states, so that nothing jumps while a stack converges.

import { order, type Layers } from "./order.ts";
import { place } from "./place.ts";

export interface Item {
  id: string;
  /** Groups are taller: they show a bar. */
  tall: boolean;
}

export interface Placed {
  id: string;
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Line {
  from: string;
  to: string;
  /** Points between the two boxes, in order: where a line passes other layers. */
  through: [number, number][];
}

export interface Layout {
  boxes: Map<string, Placed>;
  lines: Line[];
  width: number;
  height: number;
}

export const WIDTH = 172;
export const LOW = 52;
export const TALL = 72;
export const GAP_X = 44;
export const GAP_Y = 18;
/** Lines that pass other layers get places of their own there, up to so many in all. */
const MOST_PASSES = 1500;

/** One place in a layer: a box, or the passage of a line. */
export interface Slot {
  id: string;
  h: number;
  real: boolean;
  layer: number;
}

/** Return the layer of each item: the longest path that leads to it. Edges that would close a circle are left out. */
export function layersOf(ids: readonly string[], edges: readonly [string, string][]): Map<string, number> {
  const after = new Map<string, string[]>(ids.map((id) => [id, []]));
  const missing = new Map<string, number>(ids.map((id) => [id, 0]));
  for (const [from, to] of edges) {
    if (from === to || !after.has(from) || !missing.has(to)) continue;
    after.get(from)?.push(to);
    missing.set(to, (missing.get(to) ?? 0) + 1);
  }
  const layer = new Map<string, number>();
  let ready = ids.filter((id) => !missing.get(id));
  ready.forEach((id) => layer.set(id, 0));
  while (ready.length) {
    const next: string[] = [];
    for (const id of ready) {
      for (const follower of after.get(id) ?? []) {
        layer.set(follower, Math.max(layer.get(follower) ?? 0, (layer.get(id) ?? 0) + 1));
        const left = (missing.get(follower) ?? 0) - 1;
        missing.set(follower, left);
        if (left === 0) next.push(follower);
      }
    }
    ready = next;
  }
  // What is in a circle keeps the layer that it has reached.
  ids.forEach((id) => layer.has(id) || layer.set(id, 0));
  return layer;
}

/** Move items without requirements beside the first that needs them: short lines are easier to follow. */
function pulled(ids: readonly string[], edges: readonly [string, string][], layer: Map<string, number>): void {
  const nearest = new Map<string, number>();
  const entered = new Set<string>();
  for (const [from, to] of edges) {
    entered.add(to);
    nearest.set(from, Math.min(nearest.get(from) ?? Infinity, layer.get(to) ?? 0));
  }
  for (const id of ids) {
    const first = nearest.get(id);
    if (!entered.has(id) && first !== undefined && first > 1) layer.set(id, first - 1);
  }
}

/** Lay out a graph. */
export function layout(items: readonly Item[], given: readonly (readonly [string, string])[]): Layout {
  const known = new Set(items.map((item) => item.id));
  const edges = given.filter(([from, to]) => from !== to && known.has(from) && known.has(to)).map(([from, to]): [string, string] => [from, to]);
  const ids = items.map((item) => item.id);
  const layer = layersOf(ids, edges);
  pulled(ids, edges, layer);
  const alone = loose(ids, edges);
  const layers: Layers = { slots: [], before: new Map(), after: new Map() };
  for (const item of items) if (!alone.has(item.id)) put(layers, { id: item.id, h: item.tall ? TALL : LOW, real: true, layer: layer.get(item.id) ?? 0 });
  const passes = pass(layers, edges, layer);
  order(layers);
  const { found, columns } = place(layers);
  const gaps = gapsOf(columns, found);
  below(found, items.filter((item) => alone.has(item.id)));
  return finished(found, edges, passes, gaps);
}

/** Items without any edge. They say nothing about order, so they are put in rows below the graph. */
function loose(ids: readonly string[], edges: readonly [string, string][]): Set<string> {
  const tied = new Set(edges.flat());
  return new Set(ids.filter((id) => !tied.has(id)));
}

function below(found: Map<string, Placed>, items: readonly Item[]): void {
  if (!items.length) return;
  const bottom = Math.max(0, ...[...found.values()].map((one) => one.y + one.h + 2 * GAP_Y));
  const right = Math.max(0, ...[...found.values()].map((one) => one.x + one.w));
  const step = WIDTH + GAP_Y;
  const columns = Math.max(Math.floor((right + GAP_Y) / step), Math.min(items.length, Math.ceil(Math.sqrt(items.length * 0.9))), 1);
  const h = items.some((item) => item.tall) ? TALL : LOW;
  items.forEach((item, i) => {
    const y = bottom + Math.floor(i / columns) * (h + GAP_Y);
    found.set(item.id, { id: item.id, x: (i % columns) * step, y, w: WIDTH, h: item.tall ? TALL : LOW });
  });
}

function put(layers: Layers, slot: Slot): void {
  while (layers.slots.length <= slot.layer) layers.slots.push([]);
  layers.slots[slot.layer]?.push(slot);
}

function join(layers: Layers, from: string, to: string): void {
  layers.after.set(from, [...(layers.after.get(from) ?? []), to]);
  layers.before.set(to, [...(layers.before.get(to) ?? []), from]);
}

/** Add a place for each line in each layer that it passes; return these places by line. */
function pass(layers: Layers, edges: readonly [string, string][], layer: Map<string, number>): string[][] {
  const lengths = edges.map(([from, to]) => Math.max(0, (layer.get(to) ?? 0) - (layer.get(from) ?? 0) - 1));
  const affordable = lengths.reduce((sum, n) => sum + n, 0) <= MOST_PASSES;
  return edges.map(([from, to], i) => {
    const passed: string[] = [];
    const start = layer.get(from) ?? 0;
    for (let at = 1; affordable && at <= (lengths[i] ?? 0); at += 1) {
      // Lines of one box to the same layers run together as far as they can.
      const id = `${from}\u0000${start + at}`;
      if (!layers.before.has(id)) {
        put(layers, { id, h: 6, real: false, layer: start + at });
        join(layers, passed[passed.length - 1] ?? from, id);
      }
      passed.push(id);
    }
    join(layers, passed[passed.length - 1] ?? from, to);
    return passed;
  });
}

/** Where a line can pass a column: its place, and the middles between its boxes. */
interface Gaps {
  x: number;
  ys: number[];
}

function gapsOf(columns: readonly (readonly Slot[])[], found: ReadonlyMap<string, Placed>): Gaps[] {
  return columns.flatMap((column) => {
    const boxes = column.flatMap((slot) => found.get(slot.id) ?? []);
    const [first, last] = [boxes[0], boxes[boxes.length - 1]];
    if (!first || !last) return [];
    const between = boxes.slice(1).map((box, i) => ((boxes[i]?.y ?? 0) + (boxes[i]?.h ?? 0) + box.y) / 2);
    return [{ x: first.x, ys: [first.y - GAP_Y / 2, ...between, last.y + last.h + GAP_Y / 2] }];
  });
}

/** Lead a line around the boxes of columns that it crosses: between two of them, or around all. */
function around(from: Placed, to: Placed, through: [number, number][], gaps: readonly Gaps[]): [number, number][] {
  const taken = new Set(through.map(([x]) => x));
  const crossed = gaps.filter((one) => one.x > from.x && one.x < to.x && !taken.has(one.x + WIDTH / 2));
  if (!crossed.length) return through;
  const end: [number, number] = [to.x, to.y + to.h / 2];
  const points: [number, number][] = [];
  let [x, y] = [from.x + from.w, from.y + from.h / 2];
  for (const point of [...through, ...crossed.map((one): [number, null] => [one.x + WIDTH / 2, null])].sort((a, b) => a[0] - b[0])) {
    const next = through.find(([at]) => at > point[0]) ?? end;
    const straight = y + ((next[1] - y) * (point[0] - x)) / Math.max(1, next[0] - x);
    const ys = gaps.find((one) => one.x + WIDTH / 2 === point[0])?.ys ?? [];
    const free = ys.reduce((best, one) => (Math.abs(one - straight) < Math.abs(best - straight) ? one : best), ys[0] ?? straight);
    [x, y] = [point[0], point[1] ?? free];
    points.push([x, y]);
  }
  return points;
}

/** Lines beyond so many are drawn straight. */
const MOST_LED = 2000;

function finished(found: Map<string, Placed>, edges: readonly [string, string][], passes: string[][], gaps: readonly Gaps[]): Layout {
  const boxes = new Map([...found].filter(([id]) => !id.includes("\u0000")));
  const lines = edges.map(([from, to], i): Line => {
    const through = (passes[i] ?? []).map((id): [number, number] => {
      const slot = found.get(id);
      return slot ? [slot.x + slot.w / 2, slot.y + slot.h / 2] : [0, 0];
    });
    const [a, b] = [found.get(from), found.get(to)];
    return { from, to, through: a && b && edges.length <= MOST_LED ? around(a, b, through, gaps) : through };
  });
  let width = 0;
  let height = 0;
  for (const box of boxes.values()) {
    width = Math.max(width, box.x + box.w);
    height = Math.max(height, box.y + box.h);
  }
  return { boxes, lines, width, height };
}
