// Coordinates from ordered layers: each slot beside its neighbours, without overlap.

import { GAP_X, GAP_Y, LOW, WIDTH, type Placed, type Slot } from "./layout.ts";
import type { Layers } from "./order.ts";

const ROUNDS = 12;
const PASS_GAP = 8;

export interface Placing {
  found: Map<string, Placed>;
  columns: Slot[][];
}

/** Place all slots. Layers with many boxes become several columns of equal height. */
export function place(layers: Layers): Placing {
  const found = new Map<string, Placed>();
  const most = rowsFor(layers);
  let x = 0;
  const columns: Slot[][] = [];
  for (const layer of layers.slots) {
    const split = columnsOf(layer, most);
    split.forEach((column, i) => {
      let y = 0;
      for (const slot of column) {
        found.set(slot.id, { id: slot.id, x, y, w: WIDTH, h: slot.h });
        y += slot.h + gap(slot);
      }
      columns.push(column);
      x += WIDTH + (i < split.length - 1 ? GAP_Y : GAP_X + spread(layer));
    });
  }
  straighten(layers, columns, found);
  return { found, columns };
}

/** Wider gaps where many lines run between two layers. */
function spread(layer: Slot[]): number {
  return Math.min(40, layer.length);
}

// The shape of the view for which columns are split. The layout is the same in every window, so that nothing jumps.
const VIEW = { w: 1300, h: 480 };
const ROWS = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24, 28, 32, 40, 60, 100];
/** Several columns for one layer are harder to read: they have to make the boxes so much larger. */
const WORTH = 1.2;

/** Return the number of boxes in a column with which the graph is largest in the view. */
function rowsFor(layers: Layers): number {
  const counts = layers.slots.map((layer) => layer.filter((slot) => slot.real).length);
  const tallest = Math.max(1, ...counts);
  const passes = Math.max(0, ...layers.slots.map((layer) => layer.length)) - tallest;
  const zoom = (rows: number): number => {
    const columns = counts.reduce((sum, n) => sum + Math.max(1, Math.ceil(n / rows)), 0);
    const high = Math.min(rows, tallest) * (LOW + GAP_Y) + Math.max(0, passes) * PASS_GAP;
    return Math.min(1, VIEW.w / (columns * (WIDTH + GAP_X)), VIEW.h / high);
  };
  let best = tallest;
  let largest = zoom(tallest) * WORTH;
  for (const rows of ROWS) {
    if (rows >= tallest || zoom(rows) <= largest) continue;
    best = rows;
    largest = zoom(rows);
  }
  return best;
}

function columnsOf(layer: Slot[], rows: number): Slot[][] {
  const real = layer.filter((slot) => slot.real).length;
  const many = Math.max(1, Math.ceil(real / rows));
  // In turn, so that each column has the whole order of the layer from top to bottom.
  return Array.from({ length: many }, (_, i) => layer.filter((__, at) => at % many === i));
}

function gap(slot: Slot): number {
  return slot.real ? GAP_Y : PASS_GAP;
}

function straighten(layers: Layers, columns: Slot[][], found: Map<string, Placed>): void {
  for (let round = 0; round < ROUNDS; round += 1) {
    const forward = round % 2 === 0;
    const sides = round < ROUNDS - 2 ? [forward ? layers.before : layers.after] : [layers.before, layers.after];
    for (const column of forward ? columns : [...columns].reverse()) settle(column, sides, found);
  }
  let top = Infinity;
  for (const one of found.values()) top = Math.min(top, one.y);
  for (const one of found.values()) one.y = Math.round(one.y - top);
}

/** Move the slots of a column towards their neighbours, in their order, without overlap (pool adjacent violators). */
function settle(column: Slot[], sides: Map<string, string[]>[], found: Map<string, Placed>): void {
  const blocks: { sum: number; n: number; slots: Slot[]; offset: number[]; size: number }[] = [];
  for (const slot of column) {
    const here = found.get(slot.id) as Placed;
    const want = wanted(slot, sides, found) ?? here.y;
    let block = { sum: want, n: 1, slots: [slot], offset: [0], size: slot.h + gap(slot) };
    for (let last = blocks[blocks.length - 1]; last && last.sum / last.n + last.size > block.sum / block.n; last = blocks[blocks.length - 1]) {
      blocks.pop();
      const size = last.size;
      block = {
        sum: last.sum + block.sum - block.n * size,
        n: last.n + block.n,
        slots: [...last.slots, ...block.slots],
        offset: [...last.offset, ...block.offset.map((one) => one + size)],
        size: size + block.size,
      };
    }
    blocks.push(block);
  }
  for (const block of blocks) {
    block.slots.forEach((slot, i) => ((found.get(slot.id) as Placed).y = block.sum / block.n + (block.offset[i] ?? 0)));
  }
}

function wanted(slot: Slot, sides: Map<string, string[]>[], found: Map<string, Placed>): number | null {
  let sum = 0;
  let n = 0;
  for (const side of sides) {
    for (const id of side.get(slot.id) ?? []) {
      const other = found.get(id);
      if (!other) continue;
      sum += other.y + other.h / 2;
      n += 1;
    }
  }
  return n ? sum / n - slot.h / 2 : null;
}
