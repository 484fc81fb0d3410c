// The graph as a tree of real elements: it has the focus, so that keyboards and screen readers get the same graph.

import type { Box, Graph } from "../api/types.ts";
import { count, duration, plural, shortType } from "../view/format.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import { icon, numbered, STATES, WAITS_FOR_USER, WORDS } from "../view/states.ts";
import { now } from "../api/client.ts";
import { toneOf, waitsForUser } from "./draw.ts";

/** Say a box in one sentence. `held`: the names of resources that wait at hooks. */
export function sentence(box: Box, needs: number, holds: number, held: ReadonlySet<string> = NONE): string {
  const ties = [needs ? `needs ${needs}` : "", holds ? `needed by ${holds}` : ""].filter(Boolean).join(", ");
  const what = box.kind === "group" ? plural(box.n, "resource") : box.kind === "stack" ? "nested stack" : shortType(box.type);
  return `${box.name}, ${what}, ${stateWords(box, held)}${ties ? `, ${ties}` : ""}`;
}

export function stateWords(box: Box, held: ReadonlySet<string> = NONE): string {
  if (box.n > 1) {
    return STATES.flatMap((state) => numbered(state, box.states[state] ?? 0)).map(([n, words]) => `${count(n)} ${words}`).join(", ");
  }
  const tone = toneOf(box);
  if (tone === "DRIFTED") return box.drift === "gone" ? "gone" : "drifted";
  const time = box.since && (tone === "RUNNING" || tone === "WAITING") ? `, ${duration(Math.max(1, Math.floor(now() - box.since)))}` : "";
  return (waitsForUser(box, held) ? WAITS_FOR_USER : WORDS[tone]) + time;
}

const NONE: ReadonlySet<string> = new Set();
const ID = "box-";

export interface TreeActions {
  select(id: string): void;
  enter(id: string): void;
  focus(id: string): void;
}

/** Order boxes by depth, then by name: the order in which they are made. */
export function inOrder(graph: Graph): Box[] {
  return [...graph.boxes].sort((a, b) => a.depth - b.depth || a.name.localeCompare(b.name, "en", { numeric: true }));
}

export function tree(graph: Graph, boxes: readonly Box[], focused: string, selected: string, opened: readonly string[], actions: TreeActions, held: ReadonlySet<string> = NONE): TemplateResult {
  const needs = new Map<string, number>();
  const holds = new Map<string, number>();
  for (const [from, to] of graph.edges) {
    needs.set(to, (needs.get(to) ?? 0) + 1);
    holds.set(from, (holds.get(from) ?? 0) + 1);
  }
  const reachable = boxes.some((box) => box.id === focused) ? focused : (boxes[0]?.id ?? "");
  return html`<ul class="graph-tree" role="tree" aria-label="Resources of this graph" @keydown=${(event: KeyboardEvent) => keys(event, graph, boxes, actions)}>
    ${boxes.map(
      (box) => html`<li role="treeitem" id=${ID + box.id} class=${`t-${toneOf(box).toLowerCase()} ${box.id === selected ? "selected" : ""}`}
        tabindex=${box.id === reachable ? "0" : "-1"} aria-selected=${String(box.id === selected)} aria-level="1"
        aria-expanded=${box.kind === "group" ? String(opened.includes(box.id)) : nothing}
        aria-label=${sentence(box, needs.get(box.id) ?? 0, holds.get(box.id) ?? 0, held)}
        @focus=${() => actions.focus(box.id)} @click=${() => actions.select(box.id)} @dblclick=${() => actions.enter(box.id)}>
        ${icon(toneOf(box))}<span class="tree-name">${box.name}</span>
        <span class="muted">${shortType(box.type)}</span><span class="tree-state">${stateWords(box, held)}</span></li>`,
    )}
  </ul>`;
}

function keys(event: KeyboardEvent, graph: Graph, boxes: readonly Box[], actions: TreeActions): void {
  // The element has the focus at once; the view learns of it with the next frame, too late for a key right after.
  const at = (event.target as HTMLElement).id.slice(ID.length);
  const to = target(event.key, graph, boxes, at);
  if (to !== null) {
    event.preventDefault();
    document.getElementById(ID + to)?.focus();
  } else if (event.key === "Enter") {
    event.preventDefault();
    const box = boxes.find((one) => one.id === at);
    if (box && box.kind !== "resource") actions.enter(at);
    else actions.select(at);
  } else if (event.key === " ") {
    event.preventDefault();
    actions.select(at);
  }
}

/** Return where a key leads from a box: left and right along lines, up and down through the list. */
export function target(key: string, graph: Pick<Graph, "edges">, boxes: readonly Pick<Box, "id">[], at: string): string | null {
  const index = boxes.findIndex((box) => box.id === at);
  if (key === "ArrowRight") return graph.edges.find(([from]) => from === at)?.[1] ?? null;
  if (key === "ArrowLeft") return graph.edges.find(([, to]) => to === at)?.[0] ?? null;
  if (key === "ArrowDown" || key === "j") return boxes[Math.min(boxes.length - 1, index + 1)]?.id ?? null;
  if (key === "ArrowUp" || key === "k") return boxes[Math.max(0, index - 1)]?.id ?? null;
  if (key === "Home") return boxes[0]?.id ?? null;
  if (key === "End") return boxes[boxes.length - 1]?.id ?? null;
  return null;
}
