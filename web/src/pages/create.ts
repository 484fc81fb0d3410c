// A new stack.

import { ask } from "../api/client.ts";
import type { Plan } from "../api/types.ts";
import { refresh } from "../app.ts";
import { go, HOME, query, stackHref } from "../router.ts";
import { html, type TemplateResult } from "../view/html.ts";
import { body, newDraft, type Draft } from "./draft.ts";
import { SAMPLES } from "./samples.ts";
import { Wizard } from "./wizard.ts";

const NAME = /^[A-Za-z][\w.-]{0,254}$/;

export class CreatePage extends Wizard {
  protected draft: Draft = newDraft();
  protected readonly creates = true;

  constructor() {
    super();
    const sample = SAMPLES[query("sample")];
    if (sample) {
      this.draft.template = sample.template;
      this.draft.name = sample.name;
      void this.check();
    }
    if (query("step")) history.replaceState(null, "", location.pathname + (sample ? `?sample=${query("sample")}` : ""));
  }

  title(): string {
    return "Create a stack";
  }

  protected heading(): TemplateResult {
    return html`<nav class="crumbs" aria-label="Where this is"><a href=${HOME}>Stacks</a> <span aria-hidden="true">/</span> <span aria-current="page">Create</span></nav>
      <div class="head-line"><h1>Create a stack</h1>
        <label class="name-field"><span class="sr-only">Name</span><input class="input" placeholder="Name of the stack" .value=${this.draft.name} @input=${(event: Event) => {
          this.draft.name = (event.target as HTMLInputElement).value.trim();
          refresh();
        }}></label>
        ${this.draft.name && !NAME.test(this.draft.name) ? html`<span class="error-text">A name begins with a letter and has letters, digits, _ . - only.</span>` : ""}</div>`;
  }

  protected before(): TemplateResult {
    return html`<section class="card pad"><h2>Begin with a sample</h2>${Object.entries(SAMPLES).map(([key, sample]) => html`<button class="sample" @click=${() => {
      this.draft.name ||= sample.name;
      this.setTemplate(sample.template);
      if (key) refresh();
    }}><b>${sample.name}</b><span class="muted small">${sample.words}</span></button>`)}</section>`;
  }

  private request(): Record<string, unknown> {
    return { stack_name: this.draft.name || "new", ...body(this.draft, this.problems?.parameters ?? [], { patch: false, current: {} }) };
  }

  protected async readPlan(signal: AbortSignal): Promise<Plan> {
    return (await ask<{ plan: Plan }>("POST", "/plan", this.request(), { signal })).plan;
  }

  protected async apply(): Promise<void> {
    if (!NAME.test(this.draft.name)) throw new Error("Give the stack a name first, at the top of this page.");
    const made = await ask<{ stack: { id: string } }>("POST", "/stacks", this.request());
    go(stackHref(this.draft.name, made.stack.id));
  }
}
