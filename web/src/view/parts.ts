// Small pieces that every page uses: pills, the states of a view, chips.

import { Refusal } from "../api/client.ts";
import { HOME } from "../router.ts";
import { clip, cut } from "./format.ts";
import { html, nothing, type TemplateResult } from "./html.ts";
import { icon, ofStatus, type Tone } from "./states.ts";

export function pill(tone: Tone, words: string): TemplateResult {
  return html`<span class="pill t-${tone.toLowerCase()}">${icon(tone)}<span>${words}</span></span>`;
}

export function statusPill(status: string): TemplateResult {
  const { tone, words } = ofStatus(status);
  return pill(tone, words);
}

/** What a view shows while it has nothing yet. The grey blocks appear after 150 ms (style), so that fast answers do not flash. */
export function loading(what: string): TemplateResult {
  return html`<div class="skeleton" role="status" aria-label=${`Loading ${what}`}>
    <span></span><span></span><span></span><span></span></div>`;
}

export function empty(title: string, text: unknown, action: unknown = nothing): TemplateResult {
  return html`<div class="empty"><h2>${title}</h2><p>${text}</p>${action}</div>`;
}

/** Say what went wrong, with the number of the request, and offer to try again. `name`: of the page that has nothing else. */
export function trouble(error: unknown, again: () => void, name = ""): TemplateResult {
  const refusal = error instanceof Refusal ? error : null;
  const title =
    refusal?.status === 404 ? "This is gone" : refusal?.status === 403 ? "Not allowed" : refusal?.status === 0 ? "No connection" : "This did not work";
  return html`<div class="empty bad" role="alert">
    ${name ? html`<h1>${clip(name, 120)}</h1>` : nothing}
    <h2>${icon("FAILED")} ${title}</h2>
    <p class="wrap">${cut(error instanceof Error ? error.message : String(error))}</p>
    ${refusal?.request ? html`<p class="muted mono">Request ${refusal.request}</p>` : nothing}
    <div class="center">${refusal?.status === 404 ? html`<a class="button primary" href=${HOME}>All stacks</a>` : nothing}
      <button class="button" @click=${again}>Try again</button></div>
  </div>`;
}

/** A problem beside content that stays: one line. */
export function strip(tone: Tone, content: unknown, role = "status"): TemplateResult {
  return html`<div class="strip t-${tone.toLowerCase()}" role=${role}>${icon(tone)}<div class="strip-text">${content}</div></div>`;
}

export function copyButton(text: string, what: string): TemplateResult {
  return html`<button class="link small" aria-label=${`Copy ${what}`} @click=${(event: Event) => {
    void navigator.clipboard?.writeText(text);
    const button = event.currentTarget as HTMLButtonElement;
    button.textContent = "Copied";
    window.setTimeout(() => (button.textContent = "Copy"), 1500);
  }}>Copy</button>`;
}

export function driftPill(drifted: number, gone: number): TemplateResult | typeof nothing {
  if (!drifted && !gone) return nothing;
  const words = [drifted ? `${drifted} drifted` : "", gone ? `${gone} gone` : ""].filter(Boolean).join(", ");
  return pill("DRIFTED", words);
}
