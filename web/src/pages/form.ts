// The form of the parameters, made from the template, and the options of an operation.

import type { Parameter, Problems } from "../api/types.ts";
import { refresh } from "../app.ts";
import { html, nothing, type TemplateResult } from "../view/html.ts";
import { misfit, written, type Draft } from "./draft.ts";

export interface FormContext {
  draft: Draft;
  problems: Problems;
  /** What the stack has now; undefined on Create. */
  current?: Record<string, unknown> | undefined;
}

/** Return the parameters that the form cannot be sent with, with reasons. */
export function misfits({ draft, problems, current }: FormContext): Map<string, string> {
  const found = new Map<string, string>();
  for (const parameter of problems.parameters) {
    const known = (current !== undefined && parameter.name in current) || environmentHas(draft, parameter.name);
    const wrong = misfit(parameter, draft.values[parameter.name] ?? "", known);
    if (wrong) found.set(parameter.name, wrong);
  }
  return found;
}

/** The environment may give the value: the service knows; the form only must not insist. */
function environmentHas(draft: Draft, name: string): boolean {
  return draft.environment.includes(name);
}

export function form(context: FormContext): TemplateResult {
  const { problems } = context;
  const grouped = new Set(problems.parameter_groups.flatMap((group) => group.parameters));
  const rest = problems.parameters.filter((one) => !grouped.has(one.name));
  const wrong = misfits(context);
  const byName = new Map(problems.parameters.map((one) => [one.name, one]));
  const fields = (list: (Parameter | undefined)[]): unknown => list.map((one) => (one ? field(one, context, wrong.get(one.name) ?? "") : nothing));
  return html`<section class="card pad form-card" aria-label="Parameters">
    ${problems.parameters.length ? nothing : html`<p class="muted">The template asks for no values.</p>`}
    ${problems.parameter_groups.map((group) => html`<fieldset><legend>${group.label || "Parameters"}</legend>
      ${group.description ? html`<p class="muted">${group.description}</p>` : nothing}${fields(group.parameters.map((name) => byName.get(name)))}</fieldset>`)}
    ${rest.length && problems.parameter_groups.length ? html`<fieldset><legend>Others</legend>${fields(rest)}</fieldset>` : fields(rest)}
  </section>`;
}

function field(one: Parameter, { draft, current }: FormContext, wrong: string): TemplateResult {
  const preset = current !== undefined && one.name in current ? (one.hidden ? "" : written(current[one.name])) : "";
  const value = draft.values[one.name] ?? preset;
  const touched = draft.values[one.name] !== undefined;
  const fixed = one.immutable && current !== undefined && one.name in current;
  const set = (text: string): void => {
    draft.values[one.name] = text;
    refresh();
  };
  const hint = one.hidden && current !== undefined ? "unchanged" : one.default !== null && one.default !== undefined ? `default: ${one.hidden ? "hidden" : written(one.default)}` : "";
  const id = `p-${one.name}`;
  const about = [`${id}-words`, wrong && touched ? `${id}-wrong` : ""].filter(Boolean).join(" ");
  return html`<div class="field ${wrong && touched ? "wrong" : ""}"><label for=${id}>${one.label || one.name}${one.required && !preset ? html` <span class="muted">(needed)</span>` : nothing}</label>
    <span class="muted small" id="${id}-words">${one.description}${fixed ? " It cannot be changed any more." : ""}</span>
    ${control(one, id, about, value, hint, fixed, set)}
    ${wrong && touched ? html`<span class="error-text small" id="${id}-wrong">${wrong}</span>` : nothing}</div>`;
}

function control(one: Parameter, id: string, about: string, value: string, hint: string, fixed: boolean, set: (text: string) => void): TemplateResult {
  const typed = (event: Event): void => set((event.target as HTMLInputElement).value);
  const allowed = one.constraints.map((constraint) => constraint["allowed_values"]).find(Array.isArray) as unknown[] | undefined;
  const choices = allowed && one.type !== "comma_delimited_list" ? allowed.map(String) : one.type === "boolean" ? ["true", "false"] : null;
  if (choices && !one.hidden) {
    const shown = one.type === "boolean" ? value.toLowerCase() : value;
    return html`<select id=${id} class="input" aria-describedby=${about} ?disabled=${fixed} @change=${typed}><option value="" ?selected=${!shown}>${hint || "choose"}</option>
      ${choices.map((choice) => html`<option value=${choice} ?selected=${choice === shown}>${choice}</option>`)}</select>`;
  }
  if (one.type === "json" || value.includes("\n")) {
    return html`<textarea id=${id} class="input mono" rows="4" aria-describedby=${about} ?disabled=${fixed} placeholder=${hint} .value=${value} @input=${typed}></textarea>`;
  }
  return html`<input id=${id} class="input" aria-describedby=${about} ?disabled=${fixed} type=${one.hidden ? "password" : "text"} autocomplete=${one.hidden ? "new-password" : "off"}
    inputmode=${one.type === "number" ? "decimal" : "text"} placeholder=${hint} .value=${value} @input=${typed}>`;
}

export function options(draft: Draft, create: boolean): TemplateResult {
  return html`<section class="card pad form-card" aria-label="Options"><h2>Options</h2>
    <label class="check"><input type="checkbox" .checked=${draft.rollback} @change=${(event: Event) => {
      draft.rollback = (event.target as HTMLInputElement).checked;
      refresh();
    }}> Roll back if it fails</label>
    <label class="field"><span>Time limit in minutes</span><input class="input narrow" inputmode="numeric" placeholder="none" .value=${draft.timeout} @input=${(event: Event) => (draft.timeout = (event.target as HTMLInputElement).value)}></label>
    <label class="field"><span>Tags, with commas between them</span><input class="input" placeholder=${create ? "" : "unchanged"} .value=${draft.tags} @input=${(event: Event) => (draft.tags = (event.target as HTMLInputElement).value)}></label>
  </section>`;
}
