// The bar by state and its numbers in words.

import { count } from "./format.ts";
import { html, nothing, type TemplateResult } from "./html.ts";
import { icon, numbered, STATES, total, type Counts } from "./states.ts";

const ORDER = STATES;

/** Draw a bar with one piece for each state. It is decoration: the numbers stand beside it. */
export function bar(counts: Counts): TemplateResult {
  const all = total(counts);
  const pieces = ORDER.filter((state) => counts[state]);
  return html`<span class="bar" aria-hidden="true">${pieces.map(
    (state) => html`<span class="piece b-${state.toLowerCase()}" .style=${`flex-grow:${Math.max((counts[state] ?? 0) / all, 0.012)}`}></span>`,
  )}</span>`;
}

/** Write the numbers by state: `34 of 63 done, 12 running, ...`. `hooks`: how many wait for the user. */
export function legend(counts: Counts, all: number, hooks = 0): TemplateResult {
  const rest = ORDER.filter((state) => state !== "DONE" && counts[state]);
  return html`<span class="legend">
    <span><b>${count(counts.DONE ?? 0)}</b> of ${count(all)} done</span>
    ${rest.map((state) => numbered(state, counts[state] ?? 0, hooks).map(([n, words]) => html`<span class="legend-item">${icon(state)} ${count(n)} ${words}</span>`))}
  </span>`;
}

/** The short form for a row: `34 of 63`. */
export function short(counts: Counts, all: number): TemplateResult | typeof nothing {
  return all ? html`${bar(counts)}<span class="num">${count(counts.DONE ?? 0)} of ${count(all)}</span>` : nothing;
}
