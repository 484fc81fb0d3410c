// The order within layers: barycentre sweeps, and the best order that was seen.

import type { Slot } from "./layout.ts";

export interface Layers {
  slots: Slot[][];
  before: Map<string, string[]>;
  after: Map<string, string[]>;
}

const SWEEPS = 10;
/** Counting crossings costs more than sweeping; beyond this the last order is taken. */
const MOST_COUNTED = 3000;

export function order(layers: Layers): void {
  const counted = [...layers.before.values()].reduce((sum, list) => sum + list.length, 0) <= MOST_COUNTED;
  let best = layers.slots.map((layer) => [...layer]);
  let fewest = counted ? crossings(layers) : Infinity;
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep += 1) {
    const down = sweep % 2 === 0;
    const indexes = layers.slots.map((_, i) => i);
    for (const i of down ? indexes.slice(1) : indexes.slice(0, -1).reverse()) {
      sortLayer(layers, i, down ? layers.before : layers.after, down ? i - 1 : i + 1);
    }
    const now = counted ? crossings(layers) : fewest - 1;
    if (now < fewest || !counted) {
      fewest = now;
      best = layers.slots.map((layer) => [...layer]);
    }
  }
  layers.slots = best;
}

function sortLayer(layers: Layers, index: number, neighbours: Map<string, string[]>, other: number): void {
  const at = new Map((layers.slots[other] ?? []).map((slot, i): [string, number] => [slot.id, i]));
  const layer = layers.slots[index] ?? [];
  const scale = (layers.slots[other] ?? []).length / Math.max(1, layer.length);
  const weight = new Map(
    layer.map((slot, i): [string, number] => {
      const places = (neighbours.get(slot.id) ?? []).map((id) => at.get(id)).filter((one) => one !== undefined);
      return [slot.id, places.length ? places.reduce((sum, one) => sum + one, 0) / places.length : i * scale];
    }),
  );
  layer.sort((a, b) => (weight.get(a.id) ?? 0) - (weight.get(b.id) ?? 0));
}

/** Count the crossings of lines between neighbouring layers. */
export function crossings(layers: Layers): number {
  let sum = 0;
  for (let i = 1; i < layers.slots.length; i += 1) {
    const above = new Map((layers.slots[i - 1] ?? []).map((slot, at): [string, number] => [slot.id, at]));
    const ends: number[] = [];
    for (const slot of layers.slots[i] ?? []) {
      const places = (layers.before.get(slot.id) ?? []).map((id) => above.get(id)).filter((one) => one !== undefined);
      ends.push(...places.sort((a, b) => a - b));
    }
    sum += inversions(ends);
  }
  return sum;
}

function inversions(ends: readonly number[]): number {
  const size = Math.max(0, ...ends) + 2;
  const tree = new Int32Array(size + 1);
  let sum = 0;
  ends.forEach((end, seen) => {
    let notAbove = 0;
    for (let i = end + 1; i > 0; i -= i & -i) notAbove += tree[i] ?? 0;
    sum += seen - notAbove;
    for (let i = end + 1; i <= size; i += i & -i) tree[i] = (tree[i] ?? 0) + 1;
  });
  return sum;
}
