import assert from "node:assert/strict";
import test from "node:test";
import { layersOf, layout, type Item, type Layout } from "../src/graph/layout.ts";
import { crossings, order, type Layers } from "../src/graph/order.ts";

const items = (ids: string[]): Item[] => ids.map((id) => ({ id, tall: false }));

/** A generator of numbers that is the same in every run. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function random(n: number, perNode: number, seed: number): [string[], [string, string][]] {
  const roll = dice(seed);
  const ids = Array.from({ length: n }, (_, i) => `n${i}`);
  const edges: [string, string][] = [];
  for (let i = 1; i < n; i += 1) for (let k = 0; k < perNode; k += 1) if (roll() < 0.6) edges.push([`n${Math.floor(roll() * i)}`, `n${i}`]);
  return [ids, edges];
}

function overlaps(found: Layout): string[] {
  const boxes = [...found.boxes.values()];
  const bad: string[] = [];
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
    if (a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h) bad.push(`${a.id} ${b.id}`);
  }));
  return bad;
}

test("each item is in the layer of its longest path", () => {
  const found = layersOf(["a", "b", "c", "d"], [["a", "b"], ["b", "c"], ["a", "c"], ["c", "d"]]);
  assert.deepEqual([...found.values()], [0, 1, 2, 3]);
});

test("a circle, an edge to itself and edges to nowhere do no harm", () => {
  const found = layout(items(["a", "b", "c"]), [["a", "b"], ["b", "a"], ["c", "c"], ["c", "gone"]]);
  assert.equal(found.boxes.size, 3);
  assert.deepEqual(overlaps(found), []);
});

test("no boxes overlap, and lines lead to the right", () => {
  for (const [n, per, seed] of [[5, 1, 1], [30, 2, 2], [63, 2, 3], [150, 2, 4], [150, 6, 5], [120, 0, 6]] as const) {
    const [ids, edges] = random(n, per, seed);
    const found = layout(ids.map((id, i) => ({ id, tall: i % 5 === 0 })), edges);
    assert.equal(found.boxes.size, n);
    assert.deepEqual(overlaps(found), [], `${n} ${per} ${seed}`);
    for (const [from, to] of edges) assert.ok((found.boxes.get(from)?.x ?? 0) < (found.boxes.get(to)?.x ?? 0), `${from} ${to}`);
    for (const box of found.boxes.values()) assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.w <= found.width && box.y + box.h <= found.height);
  }
});

test("the same graph has the same layout", () => {
  const [ids, edges] = random(80, 2, 7);
  assert.deepEqual(layout(items(ids), edges), layout(items(ids), edges));
});

test("a chain is a straight line", () => {
  const ids = Array.from({ length: 6 }, (_, i) => `n${i}`);
  const found = layout(items(ids), ids.slice(1).map((id, i) => [`n${i}`, id] as const));
  assert.equal(new Set([...found.boxes.values()].map((box) => box.y)).size, 1);
});

test("what has no lines stands in rows below", () => {
  const found = layout(items(["a", "b", "x", "y"]), [["a", "b"]]);
  const bottom = Math.max(found.boxes.get("a")?.y ?? 0, found.boxes.get("b")?.y ?? 0);
  assert.ok((found.boxes.get("x")?.y ?? 0) > bottom && (found.boxes.get("y")?.y ?? 0) > bottom);
});

test("many like items do not make one endless column", () => {
  const ids = ["root", ...Array.from({ length: 140 }, (_, i) => `n${i}`)];
  const found = layout(items(ids), ids.slice(1).map((id) => ["root", id] as const));
  assert.ok(found.height < 20 * 70, `height ${found.height}`);
  assert.deepEqual(overlaps(found), []);
});

test("lines that pass layers have points there", () => {
  const found = layout(items(["a", "b", "c", "d"]), [["a", "b"], ["b", "c"], ["c", "d"], ["a", "d"]]);
  assert.equal(found.lines.find((line) => line.from === "a" && line.to === "d")?.through.length, 2);
});

test("sweeps undo crossings", () => {
  const slot = (id: string, layer: number): Layers["slots"][0][0] => ({ id, h: 52, real: true, layer });
  const layers: Layers = {
    slots: [[slot("a", 0), slot("b", 0)], [slot("x", 1), slot("y", 1)]],
    after: new Map([["a", ["y"]], ["b", ["x"]]]),
    before: new Map([["y", ["a"]], ["x", ["b"]]]),
  };
  assert.equal(crossings(layers), 1);
  order(layers);
  assert.equal(crossings(layers), 0);
});

test("lines do not run behind boxes of the columns that they cross", () => {
  for (const [n, per, seed] of [[60, 2, 8], [130, 2, 9], [140, 4, 10]] as const) {
    const [ids, edges] = random(n, per, seed);
    const root = ids.map((id): [string, string] => ["root", id]);
    const found = layout(items(["root", ...ids]), [...edges, ...root]);
    for (const line of found.lines) {
      for (const [x, y] of line.through) {
        const behind = [...found.boxes.values()].find((box) => x > box.x && x < box.x + box.w && y > box.y + 1 && y < box.y + box.h - 1);
        assert.equal(behind, undefined, `${line.from} ${line.to} behind ${behind?.id}`);
      }
      const xs = [found.boxes.get(line.from)?.x ?? 0, ...line.through.map(([x]) => x), found.boxes.get(line.to)?.x ?? 0];
      assert.deepEqual(xs, [...xs].sort((a, b) => a - b));
    }
  }
});

test("wide layers become several columns, as many as make the boxes largest in a wide view", () => {
  const ids = ["root", ...Array.from({ length: 12 }, (_, i) => `a${i}`), ...Array.from({ length: 12 }, (_, i) => `b${i}`)];
  const edges = ids.slice(1).map((id, i) => [i < 12 ? "root" : `a${i - 12}`, id] as const);
  const found = layout(items(ids), edges);
  assert.ok(found.width / found.height > 1.5, `${found.width} by ${found.height}`);
  const few = layout(items(["root", "a", "b", "c"]), ["a", "b", "c"].map((id) => ["root", id] as const));
  assert.equal(new Set(["a", "b", "c"].map((id) => few.boxes.get(id)?.x)).size, 1);
});
