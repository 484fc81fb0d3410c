// The past inputs of a stack: who asked for them, what each changed, how two of them differ, and the way back to one.

import { ask, get, ifGeneration, now, stackPath } from "../api/client.ts";
import type { Delta, Difference, Fields, Input, Plan } from "../api/types.ts";
import { query, setQuery, stackHref } from "../router.ts";
import { ago, clip, cut, plural, value } from "../view/format.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { empty } from "../view/parts.ts";
import { icon, ofStatus, type Tone } from "../view/states.ts";
import { planned } from "./planned.ts";
import { hasEnded, type StackContext, type StackTab } from "./tab.ts";

const MOST_LINES = 2000;

export class HistoryTab implements StackTab {
  private readonly list: Loader<Input[]>;
  private readonly diff: Loader<Difference>;
  private asked = "";
  private begun = false;

  constructor(private readonly of: StackContext) {
    this.list = new Loader<Input[]>("the history", async (signal) => (await get<{ history: Input[] }>(stackPath(of.name, of.id, "/history"), {}, signal)).history, () => this.compare());
    this.diff = new Loader<Difference>("the differences", async (signal) =>
      (await get<{ diff: Difference }>(stackPath(of.name, of.id, "/history/diff"), { from: this.from()?.generation, to: this.to()?.generation }, signal)).diff);
  }

  /** The input that is looked at: that of the address, or the newest. */
  private to(): Input | undefined {
    return this.named("to") ?? this.list.data?.[0];
  }

  /** The input that it is compared with: that of the address, or the one before. */
  private from(): Input | undefined {
    const list = this.list.data ?? [];
    return this.named("from") ?? list[list.findIndex((one) => one === this.to()) + 1];
  }

  private named(name: string): Input | undefined {
    const asked = Number(query(name));
    return asked ? this.list.data?.find((one) => one.generation <= asked && asked <= one.last_generation) : undefined;
  }

  private compare(): void {
    const [from, to] = [this.from(), this.to()];
    const asked = `${from?.generation} ${to?.generation}`;
    if (!from || !to || asked === this.asked) return;
    this.asked = asked;
    this.diff.data = null;
    void this.diff.load();
  }

  moved(): void {
    this.compare();
  }

  leave(): void {
    this.list.stop();
    this.diff.stop();
  }

  again(): void {
    if (this.begun) this.list.soon(1000);
  }

  delta(delta: Delta): void {
    if (delta.operation && this.begun) this.list.soon(hasEnded(delta) ? 300 : 1000);
  }

  view(): unknown {
    const summary = this.of.summary();
    const outer = summary?.path[0];
    if (summary?.stack.parent && outer) {
      return empty("The outermost stack has the history", "The inputs of a nested stack follow from those of the stack around it.",
        html`<a class="button primary" href=${stackHref(outer.name, outer.id, "history")}>History of ${clip(outer.name, 80)}</a>`);
    }
    if (!this.begun) {
      this.begun = true;
      void this.list.load();
    }
    return html`<div class="timeline-page history-page">${this.list.view((list) => list.length ? html`
      <nav class="operations" aria-label="Past inputs">${list.map((one) => this.input(one))}</nav>
      <div class="scroller tab-scroll"><div class="tab-inner">${this.draw(list)}</div></div>`
      : html`<div class="tab-inner">${empty("No history is kept", "Past inputs are kept as the option max_operation_history says. A delete forgets them.")}</div>`)}</div>`;
  }

  private input(one: Input): TemplateResult {
    const current = one === this.to();
    const tone: Tone = one.status === "IN_PROGRESS" ? "RUNNING" : one.status === "FAILED" ? "FAILED" : one.status === "SUPERSEDED" ? "SKIPPED" : "DONE";
    return html`<button class="operation ${current ? "current" : ""}" aria-current=${String(current)} @click=${() => setQuery({ to: String(one.generation), from: "" }, false)}>
      ${icon(tone, one.status.toLowerCase().replace("_", " "))}<span><b>${generations(one)}</b>
      <span class="muted block">${ofStatus(one.action).words}${one.requested_by ? ` by ${clip(one.requested_by, 60)}` : ""}${one.began ? `, ${ago(one.began, now())}` : ""}</span>
      ${one.changed?.length ? html`<span class="muted block small">changed ${one.changed.map((word) => (word === "part" ? "what is left out" : word)).join(", ")}</span>` : nothing}</span></button>`;
  }

  private draw(list: Input[]): TemplateResult {
    const [from, to] = [this.from(), this.to()];
    if (!to) return html``;
    const newest = to === list[0];
    const summary = this.of.summary();
    const not = summary?.may.includes("roll_back") ? (newest ? "The stack has this input now." : "") : (summary?.may_not["roll_back"]?.text ?? "Not possible now.");
    const choose = (name: "from" | "to", current: Input | undefined, words: string): TemplateResult => html`<label class="select">${words}
      <select aria-label=${name === "from" ? "The older input" : "The newer input"} @change=${(event: Event) => setQuery({ from: String(from?.generation ?? ""), to: String(to.generation), [name]: (event.target as HTMLSelectElement).value }, false)}>
      ${list.map((one) => html`<option value=${one.generation} ?selected=${one === current}>${generations(one).toLowerCase()}</option>`)}</select></label>`;
    return html`<section class="card" aria-label="Differences">
      <div class="card-tools">${from ? choose("from", from, "From") : nothing}${choose("to", to, from ? "to" : "Input of")}<span class="grow"></span>
        <button class="button" ?disabled=${Boolean(not)} title=${not} @click=${() => this.goBack(to)}>Roll back to ${generations(to).toLowerCase()}…</button></div>
      ${from ? from === to ? empty("The same input", "Choose another one to compare it with.") : this.diff.view(differences)
        : empty("This is the oldest input that is kept", list.length > 1 ? "Choose a newer one at the left to see what it changed." : "An update with other values makes the next one.")}
    </section>`;
  }

  /** Show the plan of the way back; go back to what was planned. */
  private goBack(to: Input): void {
    const words = generations(to).toLowerCase();
    planned(this.of, {
      title: `Roll back ${this.of.name} to ${words}?`,
      confirm: `Roll back to ${words}`,
      words: "The stack gets the template, the values and the files of that time. This is an update with a generation of its own; old versions of resources that still exist are used again.",
      plan: (signal) => ask<{ plan: Plan }>("POST", stackPath(this.of.name, this.of.id, "/plan"), { generation: to.generation }, { signal }),
      apply: (generation) => ask("POST", stackPath(this.of.name, this.of.id, "/actions"), { roll_back: { to: to.generation } }, ifGeneration(generation)),
      begun: "The roll-back has begun.",
    });
  }
}

function generations(one: Input): string {
  return one.last_generation > one.generation ? `Generations ${one.generation} to ${one.last_generation}` : `Generation ${one.generation}`;
}

function differences(found: Difference): TemplateResult {
  const files = Object.entries(found.files);
  const same = !found.template && !files.length && !Object.keys({ ...found.parameters, ...found.environment }).length;
  if (same) return empty("No difference", "Both have the same template, values and files. A limited update may have left other resources out.");
  return html`${fields("Parameters", found.parameters)}${fields("Environment", found.environment)}
    ${found.template ? text("Template", found.template) : nothing}${files.map(([name, lines]) => text(name, lines))}`;
}

function fields(title: string, list: Fields): TemplateResult | typeof nothing {
  const entries = Object.entries(list);
  if (!entries.length) return nothing;
  return html`<div class="pad"><h3>${title}</h3>${entries.map(([name, one]) => html`<div class="mono change wrap">${name}
    <del>${cut(value(one.from), 400)}</del> <span aria-hidden="true">→</span><span class="sr-only"> becomes </span> <ins>${cut(value(one.to), 400)}</ins></div>`)}</div>`;
}

/** Draw a text in the unified form: lines that went, lines that came, and where they are. */
function text(title: string, unified: string): TemplateResult {
  const lines = unified.replace(/\n$/, "").split("\n").slice(2);
  return html`<div class="diff-part"><h3 class="wrap">${title}</h3><div class="diff mono" role="group" tabindex="0" aria-label=${`Lines of ${title}`}>${lines.slice(0, MOST_LINES).map((line) => {
    const kind = line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : line.startsWith("@@") ? "place" : "";
    return html`<div class=${kind}>${kind === "plus" || kind === "minus" ? html`<span class="sr-only">${kind === "plus" ? "came: " : "went: "}</span>` : nothing}${cut(line, 1000)}</div>`;
  })}${lines.length > MOST_LINES ? html`<div class="place">and ${plural(lines.length - MOST_LINES, "more line")}</div>` : nothing}</div></div>`;
}
