import assert from "node:assert/strict";
import test from "node:test";
import type { Box, Graph } from "../src/api/types.ts";
import { fold, merge } from "../src/graph/fold.ts";

function box(id: string, name: string, over: Partial<Box> = {}): Box {
  return { id, kind: "resource", name, type: "T", n: 1, states: { RUNNING: 1 }, depth: 1, since: 5, stack_id: null, unwanted: false, drift: null, ...over };
}

function graph(): Graph {
  return {
    stack_id: "s", generation: 1, digest: "server", version: 1, now: 0, level: "kind", total: 8, depths: 2, critical: ["n3"],
    left_out: { boxes: 0, resources: 0, failed: 0 },
    boxes: [
      box("g1", "web_#", { kind: "group", n: 4, states: { DONE: 4 } }), box("n1", "web_10"), box("n2", "web_2", { states: { FAILED: 1 } }),
      box("n3", "web_3"), box("n4", "other_1"), box("n5", "web_5", { depth: 2 }), box("g2", "net", { kind: "group", depth: 0, states: { DONE: 1 } }),
    ],
    edges: [["g2", "g1", 4, "requires"], ["g2", "n1", 1, "requires"], ["g2", "n2", 1, "requires"], ["n1", "g1", 1, "order"]],
  };
}

test("what only runs long goes back into its group; failed and critical ones stay", () => {
  const found = fold(graph());
  assert.deepEqual(found.boxes.map((one) => [one.id, one.kind, one.n]), [
    ["g1", "group", 5], ["n2", "resource", 1], ["n3", "resource", 1], ["n4", "resource", 1], ["n5", "resource", 1], ["g2", "resource", 1],
  ]);
  assert.deepEqual(found.boxes[0]?.states, { DONE: 4, RUNNING: 1 });
  assert.deepEqual(found.edges, [["g2", "g1", 5, "requires"], ["g2", "n2", 1, "requires"]]);
});

test("folding leaves the server's graph as it is, and its name depends on no state", () => {
  const given = graph();
  const before = fold(given).digest;
  assert.deepEqual(given, graph());
  merge(given, [["g1", { RUNNING: 4 }]], [["n1", "web_10", "DONE", 9]]);
  assert.equal(fold(given).digest, before);
  assert.deepEqual(fold(given).boxes[0]?.states, { RUNNING: 4, DONE: 1 });
});

test("a box that is not known is told", () => {
  const given = graph();
  assert.equal(merge(given, [["g1", { DONE: 1 }]], [["n99", "x", "DONE", 1]]), true);
  assert.equal(merge(given, [["g99", { DONE: 1 }]], []), false);
});
