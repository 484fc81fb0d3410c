// What is drawn of the server's graph. Pure: test/fold.test.ts.
//
// The server shows resources that run long as boxes of their own, which changes while a stack converges. Here they go back
// into the group of their like, unless they failed or are on the critical path: the drawing then changes seldom.

import type { Box, Edge, Graph } from "../api/types.ts";
import type { Counts, State } from "../view/states.ts";

function kind(box: Box): string {
  return `${box.depth} ${box.type} ${box.name.replace(/\d+/g, "#")}`;
}

/** Return the graph to draw. The states of a group include those of what was folded into it. */
export function fold(graph: Graph): Graph {
  const groups = new Map<string, Box>();
  for (const box of graph.boxes) if (box.kind === "group" && box.name.includes("#")) groups.set(kind(box), { ...box, states: { ...box.states } });
  const critical = new Set(graph.critical);
  const into = new Map<string, string>();
  const boxes: Box[] = [];
  for (const box of graph.boxes) {
    const group = groups.get(kind(box));
    if (box.kind === "resource" && group && !box.states.FAILED && !critical.has(box.id)) {
      add(group, box);
      into.set(box.id, group.id);
    } else if (box.kind === "group") boxes.push(group ?? { ...box, kind: box.n === 1 && !box.name.includes("#") ? "resource" : "group" });
    else boxes.push(box);
  }
  const edges = joined(graph.edges, into);
  return { ...graph, boxes, edges, digest: digestOf(boxes, edges) };
}

function add(group: Box, box: Box): void {
  group.n += box.n;
  for (const [state, n] of Object.entries(box.states)) group.states[state as State] = (group.states[state as State] ?? 0) + n;
}

function joined(edges: readonly Edge[], into: ReadonlyMap<string, string>): Edge[] {
  const found = new Map<string, Edge>();
  for (const [from, to, n, why] of edges) {
    const a = into.get(from) ?? from;
    const b = into.get(to) ?? to;
    const known = found.get(`${a} ${b}`);
    if (known) known[2] += n;
    else if (a !== b) found.set(`${a} ${b}`, [a, b, n, why]);
  }
  return [...found.values()];
}

/** Name the drawing without states: the layout is kept for it. */
function digestOf(boxes: readonly Box[], edges: readonly Edge[]): string {
  return `${boxes.map((box) => `${box.id} ${box.kind}`).join()};${edges.map(([from, to]) => `${from} ${to}`).join()}`;
}

/** Put the states of a delta into the server's graph; return whether all its boxes were known. */
export function merge(graph: Graph, boxes: readonly [string, Counts][], nodes: readonly [string, string, State, number | null][]): boolean {
  const known = new Map(graph.boxes.map((box) => [box.id, box]));
  let all = true;
  for (const [id, states] of boxes) {
    const box = known.get(id);
    if (box) box.states = states;
    else all = false;
  }
  for (const [id, , state, since] of nodes) {
    const box = known.get(id);
    if (!box) continue;
    box.states = { [state]: 1 };
    box.since = since;
  }
  return all;
}
