// lit-html's tags, which show unseen characters of every text as marks. Values from the API reach the page through these.

import { html as plainHtml, nothing, render, svg as plainSvg, type TemplateResult } from "lit-html";
import { mark } from "./format.ts";

export { nothing, render };
export type { TemplateResult };
export type View = TemplateResult | TemplateResult[] | typeof nothing | string;

function marked(values: unknown[]): unknown[] {
  return values.map((value) => (typeof value === "string" ? mark(value) : value));
}

export function html(strings: TemplateStringsArray, ...values: unknown[]): TemplateResult {
  return plainHtml(strings, ...marked(values));
}

export const svg = plainSvg;
