// The sign of Isotherm: two lines of equal temperature.

import { svg, type TemplateResult } from "./html.ts";

export function logo(): TemplateResult {
  return svg`<svg class="logo" viewBox="0 0 24 24" aria-hidden="true"><rect width="24" height="24" rx="6" fill="var(--accent-strong)"></rect>
    <path d="M4 10.5C7 6 9.5 6 12 9S17 12 20 7.5M4 16.5C7 12 9.5 12 12 15S17 18 20 13.5" fill="none" stroke="#fff" stroke-width="1.9" stroke-linecap="round"></path></svg>`;
}
