// The two canvases and the mouse. Knows boxes and a camera; what a click means is told to the view.

import type { Box, Graph } from "../api/types.ts";
import { calm, onTheme } from "../theme.ts";
import { leading } from "../view/states.ts";
import { now } from "../api/client.ts";
import { fit, reveal, toGraph, zoomAt, type Camera } from "./camera.ts";
import { drawBox, drawLines, palette, type Look, type Palette } from "./draw.ts";
import { layout, type Layout } from "./layout.ts";

export interface Chosen {
  select(id: string): void;
  enter(id: string): void;
}

const TURN_S = 1.6;

export class GraphCanvas {
  private layout: Layout = { boxes: new Map(), lines: [], width: 0, height: 0 };
  private boxes = new Map<string, Box>();
  private digest = "";
  private camera: Camera = { x: 0, y: 0, zoom: 1 };
  private touched = false;
  private colors: Palette = palette();
  private size = { w: 0, h: 0 };
  private wanted = false;
  private lines = true;
  private timer = 0;
  private hovered = "";
  private readonly observer: ResizeObserver;
  private readonly offTheme: () => void;
  readonly look: Look = { selected: "", focused: "", critical: new Set(), shown: () => true, held: new Set(), turn: 0, now: 0 };

  constructor(
    private readonly holder: HTMLElement,
    private readonly below: HTMLCanvasElement,
    private readonly above: HTMLCanvasElement,
    private readonly chosen: Chosen,
  ) {
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(holder);
    this.offTheme = onTheme(() => {
      this.colors = palette();
      this.paint(true);
    });
    this.listen();
    this.timer = window.setInterval(() => this.tick(), 1000 / 12);
  }

  close(): void {
    this.observer.disconnect();
    this.offTheme();
    window.clearInterval(this.timer);
  }

  /** Show a graph. The same digest keeps the layout and the camera. */
  show(graph: Graph): void {
    this.boxes = new Map(graph.boxes.map((box) => [box.id, box]));
    if (graph.digest !== this.digest) {
      const before = this.layout;
      this.layout = layout(
        graph.boxes.map((box) => ({ id: box.id, tall: box.kind === "group" })),
        graph.edges.map(([from, to]) => [from, to] as const),
      );
      this.digest = graph.digest;
      if (!this.touched || !this.overlaps(before)) this.fit();
    }
    this.paint(true);
  }

  private overlaps(before: Layout): boolean {
    return [...before.boxes.keys()].some((id) => this.layout.boxes.has(id));
  }

  critical(ids: readonly string[]): void {
    this.look.critical = new Set(ids.slice(1).map((id, i) => `${ids[i]}>${id}`));
    this.paint(true);
  }

  fit(whole = false): void {
    this.touched = false;
    this.camera = fit(this.layout.width, this.layout.height, this.size.w, this.size.h, whole ? 0 : 0.5);
    this.paint(true);
  }

  zoom(factor: number): void {
    this.touched = true;
    this.camera = zoomAt(this.camera, factor, this.size.w / 2, this.size.h / 2);
    this.paint(true);
  }

  reveal(id: string): void {
    const box = this.layout.boxes.get(id);
    if (!box) return;
    this.camera = reveal(this.camera, box, this.size.w, this.size.h);
    this.paint(true);
  }

  places(): Layout {
    return this.layout;
  }

  /** Draw with the next frame: the boxes, and the lines where these changed. */
  paint(lines = false): void {
    this.lines ||= lines;
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      performance.mark("isotherm-graph");
      this.draw();
    });
  }

  private draw(): void {
    this.look.now = now();
    if (this.lines) {
      const on = this.prepared(this.below);
      drawLines(on, this.layout, this.look, this.colors, this.near());
      this.lines = false;
    }
    const on = this.prepared(this.above);
    const [left, top] = toGraph(this.camera, 0, 0);
    const [right, bottom] = toGraph(this.camera, this.size.w, this.size.h);
    for (const [id, box] of this.boxes) {
      const at = this.layout.boxes.get(id);
      if (!at || at.x > right || at.x + at.w + 8 < left || at.y - 8 > bottom || at.y + at.h < top) continue;
      drawBox(on, box, at, this.look, this.colors, this.camera);
    }
  }

  private near(): Set<string> | null {
    const id = this.hovered || this.look.selected;
    return id && this.boxes.has(id) ? new Set([id]) : null;
  }

  private prepared(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
    const on = canvas.getContext("2d") as CanvasRenderingContext2D;
    const ratio = window.devicePixelRatio || 1;
    on.setTransform(1, 0, 0, 1, 0, 0);
    on.clearRect(0, 0, canvas.width, canvas.height);
    on.setTransform(ratio * this.camera.zoom, 0, 0, ratio * this.camera.zoom, ratio * this.camera.x, ratio * this.camera.y);
    return on;
  }

  private resize(): void {
    const { clientWidth: w, clientHeight: h } = this.holder;
    if (!w || !h) return;
    const first = this.size.w === 0;
    this.size = { w, h };
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.below, this.above]) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    if (first || !this.touched) this.fit();
    // At once: a resized canvas is empty until it is drawn.
    this.lines = true;
    this.draw();
  }

  /** Turn the arcs of what runs and count its seconds, while something runs and the tab is seen. */
  private tick(): void {
    if (document.hidden || !this.size.w) return;
    let runs = false;
    for (const box of this.boxes.values()) {
      const state = leading(box.states);
      if (state === "RUNNING" || state === "WAITING") runs = true;
    }
    if (!runs) return;
    const turn = calm.matches ? 0 : ((performance.now() / 1000 / TURN_S) % 1) * 2 * Math.PI;
    const second = Math.floor(now()) !== Math.floor(this.look.now);
    if (!calm.matches || second) {
      this.look.turn = turn;
      this.paint();
    }
  }

  private at(event: MouseEvent): string {
    const rect = this.above.getBoundingClientRect();
    const [x, y] = toGraph(this.camera, event.clientX - rect.left, event.clientY - rect.top);
    for (const [id, box] of this.layout.boxes) if (x >= box.x && x <= box.x + box.w && y >= box.y - 6 && y <= box.y + box.h) return id;
    return "";
  }

  private listen(): void {
    let drag: { x: number; y: number; moved: boolean } | null = null;
    const canvas = this.above;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { x: event.clientX, y: event.clientY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
        if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
        drag = { x: event.clientX, y: event.clientY, moved: true };
        this.touched = true;
        this.camera = { ...this.camera, x: this.camera.x + dx, y: this.camera.y + dy };
        this.paint(true);
        return;
      }
      const id = this.at(event);
      canvas.classList.toggle("over", id !== "");
      if (id !== this.hovered) {
        this.hovered = id;
        this.paint(true);
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) this.chosen.select(this.at(event));
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => (drag = null));
    canvas.addEventListener("dblclick", (event) => {
      const id = this.at(event);
      if (id) this.chosen.enter(id);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.touched = true;
      const rect = canvas.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey || !event.shiftKey) {
        const factor = Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015));
        this.camera = zoomAt(this.camera, factor, event.clientX - rect.left, event.clientY - rect.top);
      } else this.camera = { ...this.camera, x: this.camera.x - event.deltaX - event.deltaY };
      this.paint(true);
    }, { passive: false });
  }
}
