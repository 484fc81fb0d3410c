// A change of a stack: what is not sent keeps its value, hidden parameters too.

import { ask, get, ifGeneration, stackPath } from "../api/client.ts";
import type { Plan } from "../api/types.ts";
import { refresh } from "../app.ts";
import { go, HOME, stackHref } from "../router.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import { loading, trouble } from "../view/parts.ts";
import { toYaml } from "../view/yaml.ts";
import { body, newDraft, type Draft } from "./draft.ts";
import { Wizard } from "./wizard.ts";

interface Detail {
  parameters: Record<string, unknown>;
  disable_rollback: boolean;
  timeout_mins: number | null;
}

export class UpdatePage extends Wizard {
  protected draft: Draft = newDraft();
  protected readonly creates = false;
  private error: unknown = null;
  private ready = false;

  constructor(
    private readonly name: string,
    private readonly id: string,
  ) {
    super();
    void this.begin();
  }

  private async begin(): Promise<void> {
    this.error = null;
    try {
      const path = (rest: string): string => stackPath(this.name, this.id, rest);
      const [template, files, detail] = await Promise.all([
        get<unknown>(path("/template")),
        get<Record<string, string>>(path("/files")),
        get<{ stack: Detail }>(path(""), { resolve_outputs: "false" }),
      ]);
      this.applied = toYaml(template);
      this.draft = { ...newDraft(this.applied), files: files ?? {}, rollback: !detail.stack.disable_rollback, timeout: detail.stack.timeout_mins ? String(detail.stack.timeout_mins) : "" };
      this.current = detail.stack.parameters;
      this.ready = true;
      await this.check();
      if (this.step() === "plan") void this.plan.load();
    } catch (error) {
      this.error = error;
    }
    refresh();
  }

  title(): string {
    return `Update ${this.name}`;
  }

  override view(): unknown {
    if (this.error) return trouble(this.error, () => void this.begin(), this.title());
    return this.ready ? super.view() : loading("the template");
  }

  protected heading(): TemplateResult {
    return html`<nav class="crumbs" aria-label="Where this is"><a href=${HOME}>Stacks</a> <span aria-hidden="true">/</span>
        <a href=${stackHref(this.name, this.id)}>${this.name}</a> <span aria-hidden="true">/</span> <span aria-current="page">Update</span></nav>
      <div class="head-line"><h1>Update ${this.name}</h1>${this.plan.data && this.step() === "plan" ? html`<span class="muted">planned against generation ${this.plan.data.generation}</span>` : nothing}</div>`;
  }

  protected before(): typeof nothing {
    return nothing;
  }

  private request(): Record<string, unknown> {
    return body(this.draft, this.problems?.parameters ?? [], { patch: true, current: this.current ?? {} });
  }

  protected async readPlan(signal: AbortSignal): Promise<Plan> {
    return (await ask<{ plan: Plan }>("POST", stackPath(this.name, this.id, "/plan"), { ...this.request(), existing: true }, { signal })).plan;
  }

  /** The generation that was planned against goes with the request: if the stack has moved on, nothing is applied. */
  protected async apply(plan: Plan): Promise<void> {
    await ask("PATCH", stackPath(this.name, this.id), this.request(), ifGeneration(plan.generation));
    go(stackHref(this.name, this.id));
  }
}
