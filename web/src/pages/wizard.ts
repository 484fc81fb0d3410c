// Three steps: template, parameters, plan. Create and Update fill in what differs.

import { ask, Refusal } from "../api/client.ts";
import type { Plan, Problem, Problems } from "../api/types.ts";
import { notify, refresh, type Page } from "../app.ts";
import { makeEditor, type Editor } from "../editor/load.ts";
import { query, setQuery } from "../router.ts";
import { cut, plural, size } from "../view/format.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { icon } from "../view/states.ts";
import type { Draft } from "./draft.ts";
import { form, misfits, options } from "./form.ts";
import { applyWords, limitsView, planView, type Limiting, type Repairing } from "./plan_view.ts";

type Step = "template" | "parameters" | "plan";
const STEPS: [Step, string][] = [["template", "Template"], ["parameters", "Parameters"], ["plan", "Plan"]];
const CHECK_MS = 400;
const LARGEST = 4 << 20;

export abstract class Wizard implements Page {
  protected abstract draft: Draft;
  protected abstract readonly creates: boolean;
  protected current: Record<string, unknown> | undefined;
  protected applied: string | null = null;
  protected problems: Problems | null = null;
  protected plan: Loader<Plan> = new Loader<Plan>("the plan", (signal) => this.readPlan(signal));
  private checking = 0;
  private editor: Editor | null = null;
  private mountedIn: HTMLElement | null = null;
  private applying = false;
  private readonly onDrop = (event: DragEvent): void => void this.dropped(event);
  private readonly onOver = (event: DragEvent): void => event.preventDefault();

  constructor() {
    document.addEventListener("drop", this.onDrop);
    document.addEventListener("dragover", this.onOver);
  }

  abstract title(): string;
  protected abstract readPlan(signal: AbortSignal): Promise<Plan>;
  protected abstract apply(plan: Plan): Promise<void>;
  protected abstract heading(): TemplateResult;
  protected abstract before(): TemplateResult | typeof nothing;

  leave(): void {
    document.removeEventListener("drop", this.onDrop);
    document.removeEventListener("dragover", this.onOver);
    window.clearTimeout(this.checking);
    this.editor?.close();
    this.plan.stop();
  }

  moved(): void {
    if (this.step() === "plan") void this.plan.load();
    refresh();
  }

  protected step(): Step {
    const asked = query("step") as Step;
    return STEPS.some(([name]) => name === asked) ? asked : "template";
  }

  protected templateChanged(text: string): void {
    this.draft.template = text;
    this.plan.data = null;
    this.checkSoon();
  }

  protected checkSoon(): void {
    window.clearTimeout(this.checking);
    this.checking = window.setTimeout(() => void this.check(), CHECK_MS);
  }

  protected async check(): Promise<void> {
    if (!this.draft.template.trim()) return;
    try {
      this.problems = await ask<Problems>("POST", "/problems", {
        template: this.draft.template,
        files: this.draft.files,
        ...(this.draft.environment.trim() ? { environment: this.draft.environment } : {}),
      });
      this.editor?.marks(this.problems.problems.filter((one) => one.line && !one.file).map((one) => ({
        line: one.line ?? 1, column: one.column ?? 1, severity: one.severity, message: one.hint ? `${one.message} ${one.hint}` : one.message,
      })));
    } catch (error) {
      if (error instanceof Refusal && error.status !== 0) {
        this.problems = { problems: [{ severity: "error", message: error.message, kind: "", path: "", file: "", line: null, column: null, hint: "" }], description: "", parameters: [], parameter_groups: [], resources: 0 };
      }
    }
    refresh();
  }

  protected setTemplate(text: string): void {
    this.draft.template = text;
    this.editor?.setText(text);
    this.checkSoon();
    refresh();
  }

  private async dropped(event: DragEvent): Promise<void> {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    await this.take([...event.dataTransfer.files]);
  }

  /** The first YAML becomes the template, an environment the environment, others are files by their name. */
  private async take(list: File[]): Promise<void> {
    for (const file of list) {
      if (file.size > LARGEST) {
        notify(`${file.name} is larger than ${size(LARGEST)}.`, true);
        continue;
      }
      const text = await file.text();
      if (/^heat_template_version:|^HOT|"heat_template_version"/m.test(text) && !Object.keys(this.draft.files).includes(file.name) && (!this.draft.template.trim() || list.length === 1)) this.setTemplate(text);
      else if (/^(parameters|parameter_defaults|resource_registry):/m.test(text) && !/^resources:/m.test(text)) this.draft.environment = text;
      else this.draft.files[file.name] = text;
    }
    this.checkSoon();
    refresh();
  }

  view(): unknown {
    const step = this.step();
    return html`<div class="wizard">
      <header class="stack-head">${this.heading()}
        <nav class="steps" aria-label="Steps">${STEPS.map(([name, words], i) => html`${i ? html`<span aria-hidden="true">›</span>` : nothing}
          <button aria-current=${step === name ? "step" : "false"} ?disabled=${!this.reachable(name)} @click=${() => setQuery({ step: name === "template" ? "" : name }, false)}>${i + 1} ${words}</button>`)}</nav></header>
      ${step === "parameters" ? html`<div class="scroller wizard-body"><div class="two">${this.problems ? form({ draft: this.draft, problems: this.problems, current: this.current }) : nothing}${options(this.draft, this.creates)}</div></div>` : nothing}
      ${step === "plan" ? html`<div class="wizard-body split">${this.editorCard(true)}<div class="plan-side">${limitsView(this.plan.data?.waits ?? [], this.limiting())}${this.plan.view((plan) => planView(plan, (line) => this.editor?.show(line, true), this.creates ? null : this.repairing(), this.limiting()))}</div></div>` : nothing}
      ${step === "template" ? html`<div class="wizard-body split narrow-side">${this.editorCard(false)}<div class="side scroller">${this.before()}${this.filesCard()}</div></div>` : nothing}
      ${this.foot(step)}
    </div>`;
  }

  private repairing(): Repairing {
    return {
      on: this.draft.repair,
      set: (on) => {
        this.draft.repair = on;
        refresh();
      },
    };
  }

  /** The limits of the request; a change of them makes the plan again. */
  private limiting(): Limiting {
    return {
      target: this.draft.target,
      exclude: this.draft.exclude,
      set: (limits) => {
        Object.assign(this.draft, limits);
        void this.plan.load();
        refresh();
      },
    };
  }

  private errors(): Problem[] {
    return this.problems?.problems.filter((one) => one.severity === "error") ?? [];
  }

  private reachable(step: Step): boolean {
    if (step === "template") return true;
    if (!this.problems || this.errors().length) return false;
    return step === "parameters" || !misfits({ draft: this.draft, problems: this.problems, current: this.current }).size;
  }

  private editorCard(comparing: boolean): TemplateResult {
    queueMicrotask(() => void this.mount(comparing));
    return html`<section class="card fill editor-card"><div class="card-head pad"><h2>Template</h2>
        <span class="muted small">${comparing && this.applied !== null ? "compared with what is applied" : this.problems ? plural(this.problems.resources, "resource") : ""}</span></div>
      <div class="editor wizard-editor"></div>${this.problemList()}</section>`;
  }

  private async mount(comparing: boolean): Promise<void> {
    const parent = document.querySelector<HTMLElement>(".wizard-editor");
    if (!parent) return;
    const before = comparing ? this.applied : null;
    if (this.mountedIn === parent) return;
    this.mountedIn = parent;
    this.editor?.close();
    parent.shadowRoot?.replaceChildren();
    this.editor = await makeEditor(parent, {
      text: this.draft.template,
      label: "Template",
      changed: (text) => this.templateChanged(text),
      ...(before === null ? {} : { before }),
    });
    // A template that was chosen while the editor was still loading.
    if (this.editor.text() !== this.draft.template) this.editor.setText(this.draft.template);
    if (this.problems || this.draft.template) void this.check();
  }

  private problemList(): TemplateResult | typeof nothing {
    const list = this.problems?.problems ?? [];
    if (!list.length) return nothing;
    return html`<ul class="problems" aria-label="Problems">${list.slice(0, 100).map((one) => html`<li class=${one.severity}>${icon(one.severity === "error" ? "FAILED" : "DRIFTED", one.severity)}
      ${one.line ? html`<button class="link mono" @click=${() => this.editor?.show(one.line ?? 1, true)}>${one.file ? `${one.file}:` : ""}${one.line}:${one.column ?? 1}</button>` : html`<span class="mono muted">${one.file}</span>`}
      <span class="wrap">${cut(one.message, 800)}${one.hint ? html` <span class="muted block">${one.hint}</span>` : nothing}</span></li>`)}</ul>`;
  }

  private filesCard(): TemplateResult {
    const names = Object.keys(this.draft.files);
    return html`<section class="card pad"><h2>Environment</h2>
      <textarea class="input mono" rows="6" aria-label="Environment" placeholder="parameters:&#10;  size: 3" .value=${this.draft.environment} @input=${(event: Event) => {
        this.draft.environment = (event.target as HTMLTextAreaElement).value;
        this.checkSoon();
      }}></textarea></section>
      <section class="card pad"><h2>Files</h2>
        ${names.length ? html`<ul class="plain-list">${names.map((name) => html`<li class="file-row"><span class="mono wrap">${name}</span><span class="muted small">${size(this.draft.files[name]?.length ?? 0)}</span>
          <button class="close" aria-label=${`Remove ${name}`} @click=${() => {
            delete this.draft.files[name];
            this.checkSoon();
            refresh();
          }}>✕</button></li>`)}</ul>` : html`<p class="muted small">Templates and scripts that this template names with get_file or as types.</p>`}
        <label class="button file-button">Add files…<input type="file" multiple class="sr-only" @change=${(event: Event) => {
          const input = event.target as HTMLInputElement;
          void this.take([...(input.files ?? [])]);
          input.value = "";
        }}></label><p class="muted small">Or drop files anywhere on this page.</p></section>`;
  }

  private foot(step: Step): TemplateResult {
    const n = this.errors().length;
    const wrong = step === "parameters" && this.problems ? misfits({ draft: this.draft, problems: this.problems, current: this.current }).size : 0;
    const words = n ? `${plural(n, "problem")} in the template` : wrong ? `${plural(wrong, "value")} to be mended or filled in` : this.note(step);
    const next: Step = step === "template" ? "parameters" : "plan";
    const plan = this.plan.data;
    return html`<footer class="foot"><span class="foot-words" role="status">${words}</span><span class="grow"></span>
      ${step !== "template" ? html`<button class="button" @click=${() => setQuery({ step: step === "plan" ? "parameters" : "" }, false)}>Back</button>` : nothing}
      ${step === "plan"
        ? html`<button class="button" @click=${() => void this.plan.load()}>Plan again</button>
          <button class="button primary" ?disabled=${!plan || this.applying || this.plan.busy || Boolean(this.plan.error)} @click=${() => plan && void this.applyIt(plan)}>${this.applying ? "Working…" : plan ? applyWords(plan, this.creates, this.draft.repair) : "Planning…"}</button>`
        : html`<button class="button primary" ?disabled=${!this.reachable(next)} @click=${() => setQuery({ step: next }, false)}>${next === "plan" ? "Plan" : "Next"}</button>`}
    </footer>`;
  }

  protected note(step: Step): TemplateResult | string {
    if (step !== "plan" || !this.plan.data) return "";
    const back = html`<span class="muted">Roll back on failure: ${this.draft.rollback ? "on" : "off"}.</span>`;
    return this.plan.data.operation_in_progress ? html`${icon("DRIFTED")} An operation is under way. Applying overtakes it: what runs is finished, then this goes on. ${back}` : back;
  }

  private async applyIt(plan: Plan): Promise<void> {
    this.applying = true;
    refresh();
    try {
      await this.apply(plan);
    } catch (error) {
      const moved = error instanceof Refusal && error.status === 409 && error.type === "GenerationMoved";
      notify(moved ? "The stack has moved on since this plan was made. Nothing was applied; here is the new plan." : (error as Error).message, true);
      if (moved) void this.plan.load();
    }
    this.applying = false;
    refresh();
  }
}
