import assert from "node:assert/strict";
import test from "node:test";
import { fit, reveal, toGraph, zoomAt } from "../src/graph/camera.ts";
import { stateWords, target } from "../src/graph/tree.ts";
import { Splitter } from "../src/api/sse.ts";
import type { Box, Edge, Parameter, Timeline } from "../src/api/types.ts";
import { body, misfit, newDraft, written } from "../src/pages/draft.ts";
import { parse, stackHref } from "../src/router.ts";
import { important, rangeOf, rowsOf } from "../src/timeline/rows.ts";
import { scale, ticks } from "../src/timeline/scale.ts";
import { leading, numbered, ofStatus, total } from "../src/view/states.ts";
import { windowOf } from "../src/view/window.ts";

test("the camera shows all, and keeps the point under the mouse", () => {
  const all = fit(2000, 400, 1000, 500);
  assert.ok(all.zoom < 0.5 && all.zoom > 0.4);
  assert.equal(fit(10_000, 400, 1000, 500, 0.5).zoom, 0.5);
  const before = toGraph(all, 300, 200);
  const after = toGraph(zoomAt(all, 1.7, 300, 200), 300, 200);
  before.forEach((one, i) => assert.ok(Math.abs(one - (after[i] ?? 0)) < 1e-9));
  const moved = reveal({ x: 0, y: 0, zoom: 1 }, { x: 1500, y: 10, w: 100, h: 50 }, 800, 600);
  assert.ok(1500 + moved.x + 100 <= 800);
});

test("arrows lead along lines, and up and down the list", () => {
  const edges: Edge[] = [["a", "b", 1, "requires"], ["b", "c", 1, "requires"]];
  const boxes = ["a", "b", "c"].map((id) => ({ id }));
  assert.equal(target("ArrowRight", { edges }, boxes, "a"), "b");
  assert.equal(target("ArrowLeft", { edges }, boxes, "c"), "b");
  assert.equal(target("ArrowLeft", { edges }, boxes, "a"), null);
  assert.equal(target("ArrowDown", { edges }, boxes, "c"), "c");
  assert.equal(target("k", { edges }, boxes, "b"), "a");
});

test("messages of a stream are found however its text is cut", () => {
  const text = ": still here\n\nevent: ready\nretry: 1000\ndata: {\"a\":1}\n\nid: 42\nevent: delta\ndata: 1\ndata: 2\n\n";
  for (const step of [1, 3, 7, 1000]) {
    const splitter = new Splitter();
    const found = [];
    for (let i = 0; i < text.length; i += step) found.push(...splitter.push(text.slice(i, i + step)));
    assert.deepEqual(found, [{ event: "ready", data: '{"a":1}', id: "" }, { event: "delta", data: "1\n2", id: "42" }]);
  }
});

test("addresses lead to pages", () => {
  assert.deepEqual(parse("/ui/"), { page: "stacks" });
  assert.deepEqual(parse("/ui/stacks/a%2Fb/id"), { page: "stack", name: "a/b", id: "id", tab: "graph" });
  assert.deepEqual(parse("/ui/stacks/web/id/drift"), { page: "stack", name: "web", id: "id", tab: "drift" });
  assert.deepEqual(parse("/ui/stacks/web/id/update"), { page: "update", name: "web", id: "id" });
  assert.deepEqual(parse("/ui/stacks/web/id/nonsense"), { page: "missing" });
  assert.deepEqual(parse("/ui/stacks/%E0%A4%A/id"), { page: "stack", name: "%E0%A4%A", id: "id", tab: "graph" });
  assert.deepEqual(parse(stackHref("ü .", "x", "events")), { page: "stack", name: "ü .", id: "x", tab: "events" });
});

test("only rows in view are drawn, at most sixty", () => {
  assert.deepEqual(windowOf(100_000, 40, 400_000, 800), { from: 9994, to: 10_026, before: 399_760, after: 3_598_960 });
  for (const top of [0, 1e6, 1e9]) {
    const shown = windowOf(100_000, 40, top, 50_000);
    assert.ok(shown.to - shown.from <= 60 && shown.to <= 100_000);
    assert.equal(shown.before + (shown.to - shown.from) * 40 + shown.after, 4_000_000);
  }
  assert.deepEqual(windowOf(0, 40, 0, 800), { from: 0, to: 0, before: 0, after: 0 });
});

test("long pauses are folded", () => {
  const found = scale([[0, 10], [990, 1000]], 0, 1000);
  assert.deepEqual(found.pieces.map((piece) => piece.folded), [false, true, false]);
  assert.ok(Math.abs(found.at(10) - 0.48) < 1e-9);
  assert.ok(Math.abs(found.at(1000) - 1) < 1e-9);
  assert.equal(scale([[0, 600], [500, 1000]], 0, 1000).pieces.length, 1);
  assert.equal(scale([], 5, 5).at(5), 0);
  assert.equal(scale([[0.3, 0.5]], 0, 0.6).pieces.length, 1, "nothing is won by folding less than ten seconds");
  let last = -1;
  for (let t = 0; t <= 1000; t += 10) {
    assert.ok(found.at(t) >= last);
    last = found.at(t);
  }
});

test("ticks are round and few", () => {
  assert.deepEqual(ticks(60, 6), [0, 10, 20, 30, 40, 50, 60]);
  assert.deepEqual(ticks(1.2, 6), [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1, 1.2000000000000002]);
  for (const length of [0.1, 7, 999, 1e6, 1e8]) assert.ok(ticks(length, 6).length <= 8);
});

const timeline = (running: boolean): Timeline => ({
  now: 100, partial: false, left_out: 0, critical: ["a", "b"],
  operation: { id: "1", generation: 1, action: "CREATE", state: "UPDATING", running, began: 0, deadline: null, ended: running ? null : 90, remaining: 0, cancelled: false, failure: null },
  spans: [["a", "T", "CREATE", null, 0, null, 10, "COMPLETE"], ["c", "T", "CREATE", null, 1, null, 2, "FAILED"], ["a", "T", "CREATE", null, 20, null, 30, "COMPLETE"], ["b", "T", "CREATE", null, 30, null, null, "IN_PROGRESS"], ["d", "T", "CREATE", null, 30, null, 33, "COMPLETE"]],
  groups: [{ name: "w_#", type: "T", n: 5, began: 3, ended: 9, outcomes: { COMPLETE: 5 } }],
});

test("a timeline has one row for each resource, and groups last", () => {
  const rows = rowsOf(timeline(true), 100);
  assert.deepEqual(rows.map((row) => [row.name, row.bars.length, row.n]), [["a", 2, 1], ["c", 1, 1], ["b", 1, 1], ["d", 1, 1], ["w_#", 1, 5]]);
  assert.equal(rows[2]?.bars[0]?.to, 100);
  assert.deepEqual(rangeOf(timeline(true), rows, 100), [0, 100]);
  assert.equal(rowsOf(timeline(false), 100)[2]?.bars[0]?.to, 90);
});

test("failures and the critical path are kept when rows are few", () => {
  assert.deepEqual(important(rowsOf(timeline(true), 100), 3).map((row) => row.name), ["a", "c", "b"]);
});

test("the state that says most leads a group", () => {
  assert.equal(leading({ DONE: 40, RUNNING: 1 }), "RUNNING");
  assert.equal(leading({ DONE: 40, FAILED: 1, RUNNING: 3 }), "FAILED");
  assert.equal(total({ DONE: 2, PENDING: 3 }), 5);
  assert.deepEqual(ofStatus("UPDATE_IN_PROGRESS"), { tone: "RUNNING", words: "Update in progress" });
  assert.equal(ofStatus("SUSPEND_COMPLETE").tone, "RESTING");
});

const parameter = (over: Partial<Parameter>): Parameter => ({ name: "p", type: "string", label: "", description: "", required: true, hidden: false, immutable: false, default: null, constraints: [], ...over });

test("the form knows the constraints", () => {
  assert.equal(misfit(parameter({}), "", false), "A value is needed.");
  assert.equal(misfit(parameter({}), "", true), "");
  assert.equal(misfit(parameter({ type: "number", constraints: [{ range: { min: 1, max: 3 } }] }), "4", false), "At most 3.");
  assert.equal(misfit(parameter({ constraints: [{ length: { min: 2 } }] }), "x", false), "At least 2 characters.");
  assert.equal(misfit(parameter({ constraints: [{ allowed_values: ["a", "b"] }] }), "c", false), "One of: a, b.");
  assert.equal(misfit(parameter({ constraints: [{ allowed_pattern: "[a-z]+$", description: "Small letters." }] }), "A", false), "Small letters.");
  assert.equal(misfit(parameter({ constraints: [{ allowed_pattern: "(?P<x>a)" }] }), "A", false), "");
  assert.equal(misfit(parameter({ type: "json" }), "{", false), "This is not JSON.");
});

test("an update sends what has changed, and no masked value", () => {
  const draft = { ...newDraft("t"), values: { same: "1", other: "2", secret: "" } };
  const parameters = [parameter({ name: "same" }), parameter({ name: "other" }), parameter({ name: "secret", hidden: true }), parameter({ name: "untouched" })];
  const sent = body(draft, parameters, { patch: true, current: { same: 1, other: 1, secret: "******", untouched: "x" } });
  assert.deepEqual(sent["parameters"], { other: "2" });
  assert.deepEqual(body({ ...draft, values: { list: '["a,b","c"]' } }, [parameter({ name: "list", type: "comma_delimited_list" })], { patch: false, current: {} })["parameters"], { list: ["a,b", "c"] });
  assert.equal(written(["a", "b"]), "a,b");
  assert.equal(written({ a: 1 }), '{"a":1}');
});

test("what waits at a hook waits for the user", () => {
  assert.deepEqual(numbered("WAITING", 3), [[3, "wait for the cloud"]]);
  assert.deepEqual(numbered("WAITING", 3, 1), [[2, "wait for the cloud"], [1, "waits for you"]]);
  assert.deepEqual(numbered("WAITING", 2, 5), [[2, "wait for you"]]);
  assert.deepEqual(numbered("DONE", 2, 5), [[2, "done"]]);
  const box: Box = { id: "n1", kind: "resource", name: "a", type: "T", n: 1, states: { WAITING: 1 }, depth: 0, since: null, stack_id: null, unwanted: false, drift: null };
  assert.equal(stateWords(box, new Set(["a"])), "waits for you");
  assert.equal(stateWords(box, new Set(["b"])), "waits for the cloud");
  assert.equal(stateWords({ ...box, states: { DONE: 1 } }, new Set(["a"])), "done");
});
