// The picture of a timeline: names at the left, one line for each resource. Real elements, so that it can be read aloud.

import type { Timeline } from "../api/types.ts";
import { setQuery } from "../router.ts";
import { narrow } from "../theme.ts";
import { count, duration } from "../view/format.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import type { Tone } from "../view/states.ts";
import { rangeOf, type Bar, type TimeRow } from "./rows.ts";
import { scale, ticks, type Scale } from "./scale.ts";

const TICKS = 6;

function tone(bar: Bar): Tone {
  if (bar.outcome === "FAILED") return "FAILED";
  if (bar.action === "HOOK") return "WAITING";
  if (bar.running) return bar.outcome === "WAITING" ? "WAITING" : "RUNNING";
  return bar.outcome === "COMPLETE" ? "DONE" : "SKIPPED";
}

function doing(bar: Bar): string {
  return bar.action === "HOOK" ? "wait at a hook" : bar.action.toLowerCase();
}

const percent = (share: number): string => `${(share * 100).toFixed(3)}%`;

export function scaleOf(timeline: Timeline, rows: readonly TimeRow[], now: number, zoom: [number, number] | null): Scale {
  const [from, to] = zoom ?? rangeOf(timeline, rows, now);
  return scale(rows.flatMap((row) => row.bars.map((bar): [number, number] => [bar.ready ?? bar.from, bar.to])), from, to);
}

/** Write the seconds since the beginning above the lines; the end of a running operation is now. */
export function axis(scale: Scale, zero: number, running: boolean): TemplateResult {
  const marks: TemplateResult[] = [];
  let last = -1;
  for (const piece of scale.pieces) {
    if (piece.folded) {
      marks.push(html`<span class="tick fold" .style=${`left:${percent(piece.start + piece.width / 2)}`} title=${`${duration(piece.to - piece.from)} without anything`}>⋯</span>`);
      continue;
    }
    for (const second of ticks(scale.to - zero, TICKS)) {
      const time = zero + second;
      const at = scale.at(time);
      if (time < piece.from || time > piece.to || at - last < (narrow.matches ? 0.2 : 0.08) || at > (running ? (narrow.matches ? 0.7 : 0.9) : 0.97)) continue;
      last = at;
      marks.push(html`<span class="tick" .style=${`left:${percent(at)}`}>${duration(second)}</span>`);
    }
  }
  return html`<div class="axis" aria-hidden="true">${marks}${running ? html`<span class="tick now" .style=${"left:100%"}>now</span>` : nothing}</div>`;
}

export function line(row: TimeRow, on: Scale, zero: number): TemplateResult {
  const words = row.bars.map((bar) => `${doing(bar)} began after ${duration(bar.from - zero)}, ${
    bar.running ? `running for ${duration(bar.to - bar.from)}` : `took ${duration(bar.to - bar.from)}`}${bar.outcome === "FAILED" ? ", failed" : ""}`);
  return html`<button class="gantt-row ${row.critical ? "critical" : ""}" 
      ?disabled=${row.n > 1} @click=${() => setQuery({ r: row.name })}>
    <span class="gantt-name" title=${row.name}>${row.name}${row.n > 1 ? html` <span class="muted">${count(row.n)}</span>` : nothing}</span>
    <span class="gantt-line">${row.bars.map((bar) => {
      const [a, b] = [on.at(bar.from), on.at(bar.to)];
      return html`${bar.ready !== null && bar.ready < bar.from
        ? html`<span class="gantt-ready" .style=${`left:${percent(on.at(bar.ready))};width:${percent(a - on.at(bar.ready))}`}></span>` : nothing}
        <span class="gantt-bar b-${tone(bar).toLowerCase()} ${bar.running ? "moving" : ""}" title=${`${doing(bar)}: ${duration(bar.to - bar.from)}`}
          .style=${`left:${percent(a)};width:max(3px, ${percent(b - a)})`}></span>`;
    })}</span>
    <span class="sr-only">${words.join("; ")}${row.critical ? "; on the critical path" : ""}</span>
    <span class="gantt-time num">${duration(row.bars.reduce((sum, bar) => sum + bar.to - bar.from, 0))}</span>
  </button>`;
}
