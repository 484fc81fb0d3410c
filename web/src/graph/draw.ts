// Drawing on the canvases: lines on one, boxes on the other, so that a change of state repaints single boxes.

import { clip, count, duration, shortType } from "../view/format.ts";
import { leading, SHAPES, STATES, total, WAITS_FOR_USER, type State, type Tone } from "../view/states.ts";
import type { Box } from "../api/types.ts";
import type { Camera } from "./camera.ts";
import { LOW, type Layout, type Line, type Placed } from "./layout.ts";

export interface Palette {
  card: string;
  page: string;
  text: string;
  muted: string;
  line: string;
  edge: string;
  accent: string;
  tones: Record<Tone, string>;
  sans: string;
}

/** Read the colours of the theme once; canvases cannot use style sheets. */
export function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const tones = Object.fromEntries(Object.keys(SHAPES).map((tone) => [tone, color(`s-${tone.toLowerCase()}`)])) as Record<Tone, string>;
  return {
    card: color("card"), page: color("page"), text: color("text"), muted: color("muted"), line: color("line"), edge: color("edge"),
    accent: color("accent"), tones, sans: color("sans"),
  };
}

export interface Look {
  selected: string;
  focused: string;
  critical: Set<string>;
  shown: (box: Box) => boolean;
  /** The names of resources that wait at hooks. */
  held: ReadonlySet<string>;
  /** Draws the turning arc of what runs; still where motion is not wanted. */
  turn: number;
  now: number;
}

const paths = new Map<string, Path2D>();

function path(d: string): Path2D {
  let found = paths.get(d);
  if (!found) paths.set(d, (found = new Path2D(d)));
  return found;
}

/** Draw the shape of a state in a square of `size`. */
export function shape(on: CanvasRenderingContext2D, tone: Tone, x: number, y: number, size: number, colors: Palette, turn = 0): void {
  on.save();
  on.translate(x, y);
  on.scale(size / 16, size / 16);
  for (const part of SHAPES[tone]) {
    on.save();
    if (part.faint) on.globalAlpha = 0.28;
    else if (tone === "RUNNING" && turn) {
      on.translate(8, 8);
      on.rotate(turn);
      on.translate(-8, -8);
    }
    on.strokeStyle = on.fillStyle = part.ink ? colors.card : colors.tones[tone];
    if (part.stroke) {
      on.lineWidth = part.stroke;
      on.lineCap = part.dash ? "butt" : "round";
      on.setLineDash(part.dash ?? []);
      on.stroke(path(part.d));
    } else on.fill(path(part.d));
    on.restore();
  }
  on.restore();
}

/** Say a box's state in one tone. */
export function toneOf(box: Box): Tone {
  const state = leading(box.states);
  return state === "DONE" && (box.drift === "drifted" || box.drift === "gone") ? "DRIFTED" : state;
}

/** Whether a box is one resource that waits at a hook: for the user. */
export function waitsForUser(box: Box, held: ReadonlySet<string>): boolean {
  return box.kind !== "group" && leading(box.states) === "WAITING" && held.has(box.name);
}

/** Below this zoom a box has only its name, in letters that can be read. */
const FAR = 0.6;

/** Draw one box. */
export function drawBox(on: CanvasRenderingContext2D, box: Box, at: Placed, look: Look, colors: Palette, camera: Camera): void {
  const { x, y, w, h } = at;
  const tone = toneOf(box);
  const failed = tone === "FAILED";
  const selected = look.selected === box.id || look.focused === box.id;
  on.save();
  on.globalAlpha = look.shown(box) ? 1 : 0.25;
  if (box.kind === "group" || box.kind === "stack") stacked(on, at, colors);
  rounded(on, x, y, w, h, 8);
  on.fillStyle = colors.card;
  on.fill();
  on.lineWidth = selected ? 2.4 : failed ? 1.8 : 1.2;
  on.strokeStyle = selected ? colors.accent : failed ? colors.tones.FAILED : colors.line;
  if (box.unwanted) on.setLineDash([5, 4]);
  on.stroke();
  on.setLineDash([]);
  on.fillStyle = colors.tones[tone];
  rounded(on, x - 0.5, y + 7, 4, h - 14, 2);
  on.fill();
  if (camera.zoom < FAR) far(on, box, at, tone, colors, camera.zoom);
  else near(on, box, at, tone, look, colors);
  on.restore();
}

function stacked(on: CanvasRenderingContext2D, { x, y, w, h }: Placed, colors: Palette): void {
  on.fillStyle = colors.card;
  on.strokeStyle = colors.line;
  on.lineWidth = 1.2;
  for (const off of [6, 3]) {
    rounded(on, x + off, y - off, w, h, 8);
    on.fill();
    on.stroke();
  }
}

function far(on: CanvasRenderingContext2D, box: Box, { x, y, w, h }: Placed, tone: Tone, colors: Palette, zoom: number): void {
  const size = Math.min(22, Math.max(15, 9.5 / zoom));
  shape(on, tone, x + 11, y + h / 2 - size / 2, size, colors);
  on.fillStyle = colors.text;
  on.font = `600 ${size.toFixed(1)}px ${colors.sans}`;
  on.fillText(fitted(on, box.name, w - size - 26), x + size + 18, y + h / 2 + size * 0.36);
}

function near(on: CanvasRenderingContext2D, box: Box, { x, y, w, h }: Placed, tone: Tone, look: Look, colors: Palette): void {
  shape(on, tone, x + 13, y + 11, 14, colors, tone === "RUNNING" ? look.turn : 0);
  const n = box.kind === "stack" ? "›" : box.n > 1 ? count(box.n) : "";
  on.font = `12px ${colors.sans}`;
  const right = n ? on.measureText(n).width + 8 : 0;
  if (n) {
    on.fillStyle = colors.muted;
    on.textAlign = "right";
    on.fillText(n, x + w - 11, y + 22);
    on.textAlign = "left";
  }
  on.fillStyle = colors.text;
  on.font = `600 13px ${colors.sans}`;
  on.fillText(fitted(on, box.name, w - 46 - right), x + 34, y + 22.5);
  const held = waitsForUser(box, look.held);
  // The head tells how long a hook has been waiting; here the words need the width.
  const time = box.since && !held && (tone === "RUNNING" || tone === "WAITING") ? duration(Math.floor(Math.max(1, look.now - box.since))) : "";
  on.font = `600 11.5px ${colors.sans}`;
  const timeWidth = time ? on.measureText(time).width + 8 : 0;
  if (time) {
    on.fillStyle = colors.tones[tone];
    on.fillText(time, x + w - 4 - timeWidth, y + 40);
  }
  on.fillStyle = held ? colors.tones[tone] : colors.muted;
  on.font = `11.5px ${colors.sans}`;
  on.fillText(fitted(on, held ? WAITS_FOR_USER : shortType(box.type), w - 46 - timeWidth), x + 34, y + 40);
  if (h > LOW) smallBar(on, box, x + 14, y + 54, w - 28, colors);
}

function smallBar(on: CanvasRenderingContext2D, box: Box, x: number, y: number, w: number, colors: Palette): void {
  const all = Math.max(1, total(box.states));
  on.save();
  rounded(on, x, y, w, 6, 3);
  on.clip();
  let left = x;
  for (const state of STATES) {
    const width = ((box.states[state as State] ?? 0) / all) * w;
    if (!width) continue;
    on.fillStyle = colors.tones[state];
    on.fillRect(left, y, Math.max(2, width - 1), 6);
    left += width;
  }
  on.restore();
}

const widths = new Map<string, string>();

/** Shorten a text to a width; measured once for each text, font and width. */
function fitted(on: CanvasRenderingContext2D, text: string, width: number): string {
  const key = `${on.font}|${Math.round(width)}|${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  let shown = clip(text, 60);
  while (shown.length > 1 && on.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  if (widths.size > 5000) widths.clear();
  widths.set(key, shown);
  return shown;
}

function rounded(on: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, r: number): void {
  on.beginPath();
  on.roundRect(x, y, w, h, r);
}

const MANY = 2000;

/** Draw the lines; those of the critical path last and thicker. */
export function drawLines(on: CanvasRenderingContext2D, layout: Layout, look: Look, colors: Palette, near: Set<string> | null): void {
  const straight = layout.lines.length > MANY;
  const onPath = (line: Line): boolean => look.critical.has(`${line.from}>${line.to}`);
  const stroke = (lines: Line[], color: string, width: number, alpha: number): void => {
    on.beginPath();
    for (const line of lines) trace(on, line, layout, straight);
    on.strokeStyle = color;
    on.lineWidth = width;
    on.globalAlpha = alpha;
    on.stroke();
    on.globalAlpha = 1;
  };
  const touched = (line: Line): boolean => near !== null && (near.has(line.from) || near.has(line.to));
  const plain = layout.lines.filter((line) => !onPath(line));
  stroke(plain.filter((line) => !touched(line)), colors.edge, 1.3, near ? 0.45 : 1);
  stroke(plain.filter(touched), colors.text, 1.6, 0.75);
  stroke(layout.lines.filter(onPath), colors.accent, 2.6, 1);
}

function trace(on: CanvasRenderingContext2D, line: Line, layout: Layout, straight: boolean): void {
  const from = layout.boxes.get(line.from);
  const to = layout.boxes.get(line.to);
  if (!from || !to) return;
  let x = from.x + from.w;
  let y = from.y + from.h / 2;
  on.moveTo(x, y);
  const end: [number, number] = [to.x, to.y + to.h / 2];
  if (straight) return on.lineTo(...end);
  for (const [px, py] of line.through) {
    // A passage is as wide as a box: the line runs level through it.
    const [enter, leave] = [px - from.w / 2, px + from.w / 2];
    curve(on, x, y, enter, py);
    on.lineTo(leave, py);
    [x, y] = [leave, py];
  }
  return curve(on, x, y, ...end);
}

function curve(on: CanvasRenderingContext2D, x: number, y: number, toX: number, toY: number): void {
  const middle = x + Math.max(18, (toX - x) / 2);
  on.bezierCurveTo(middle, y, toX - Math.max(18, (toX - x) / 2), toY, toX, toY);
}
