// One dialog over the page. The element `dialog` keeps the focus inside, closes with Esc and gives the focus back.

import { refresh, refreshNow } from "../app.ts";
import { html, nothing, type TemplateResult } from "./html.ts";

interface Open {
  title: string;
  content: () => unknown;
  confirm?: string;
  danger?: boolean;
  ready?: () => boolean;
  done?: () => Promise<void> | void;
  modalOnly?: boolean;
}

let open: Open | null = null;
let back: Element | null = null;
let busy = false;
let wrong = "";

export function show(dialog: Open): void {
  back = document.activeElement;
  open = dialog;
  busy = false;
  wrong = "";
  refreshNow();
  const element = document.querySelector<HTMLDialogElement>("dialog.dialog");
  if (element && !element.open) element.showModal();
  element?.querySelector<HTMLElement>("[autofocus]")?.focus();
}

export function close(): void {
  document.querySelector<HTMLDialogElement>("dialog.dialog")?.close();
}

function closed(): void {
  open = null;
  refreshNow();
  if (back instanceof HTMLElement && back.isConnected) back.focus();
  back = null;
}

async function confirm(event: Event): Promise<void> {
  event.preventDefault();
  const asked = open;
  if (!asked?.done || busy || (asked.ready && !asked.ready())) return;
  busy = true;
  wrong = "";
  refresh();
  try {
    await asked.done();
    if (open === asked) close();
  } catch (error) {
    wrong = (error as Error).message;
  }
  busy = false;
  refresh();
}

export function view(): TemplateResult | typeof nothing {
  if (!open) return nothing;
  const asked = open;
  return html`<dialog class="dialog" aria-labelledby="dialog-title" @close=${closed}>
    <form @submit=${confirm}>
      <h2 id="dialog-title">${asked.title}</h2>
      <div class="dialog-body">${asked.content()}</div>
      ${wrong ? html`<p class="error-text wrap" role="alert">${wrong}</p>` : nothing}
      <div class="dialog-foot">
        <button class="button" type="button" @click=${close}>${asked.done ? "Keep as it is" : "Close"}</button>
        ${asked.done
          ? html`<button class="button ${asked.danger ? "danger" : "primary"}" type="submit"
              ?disabled=${busy || (asked.ready ? !asked.ready() : false)}>${busy ? "Working…" : (asked.confirm ?? "OK")}</button>`
          : nothing}
      </div>
    </form>
  </dialog>`;
}

export function isOpen(): boolean {
  return open !== null;
}
