// A button that opens a list of actions. What is not possible is shown with the reason, not hidden.

import { refresh } from "../app.ts";
import { html, nothing, type TemplateResult } from "./html.ts";

export interface Item {
  words: string;
  act: () => void;
  danger?: boolean;
  /** Why it cannot be done; empty if it can. */
  not?: string;
}

let openName = "";

function toggle(name: string): void {
  openName = openName === name ? "" : name;
  refresh();
  if (openName) requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(".menu button:not([aria-disabled=true])")?.focus()));
}

export function closeMenus(): boolean {
  const was = openName !== "";
  openName = "";
  if (was) refresh();
  return was;
}

function keys(event: KeyboardEvent): void {
  if (event.key === "Escape") {
    event.stopPropagation();
    const name = openName;
    closeMenus();
    document.getElementById(`menu-${name}`)?.focus();
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  const items = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("button")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  items[(at + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length]?.focus();
}

export function menu(name: string, words: string, items: Item[]): TemplateResult {
  const open = openName === name;
  return html`<div class="menu-holder">
    <button id="menu-${name}" class="button" aria-haspopup="menu" aria-expanded=${String(open)} @click=${() => toggle(name)}>${words}
      <span aria-hidden="true">▾</span></button>
    ${open
      ? html`<div class="menu" role="menu" aria-labelledby="menu-${name}" @keydown=${keys}>
          ${items.map(
            (item) => html`<button role="menuitem" class=${item.danger ? "danger-text" : ""} aria-disabled=${String(Boolean(item.not))}
              @click=${() => {
                if (item.not) return;
                closeMenus();
                item.act();
              }}>${item.words}${item.not ? html`<span class="menu-why">${item.not}</span>` : nothing}</button>`,
          )}
        </div>`
      : nothing}
  </div>`;
}

document.addEventListener("click", (event) => {
  if (openName && !(event.target as Element).closest?.(".menu-holder")) closeMenus();
});
