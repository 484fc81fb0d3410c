// Outputs and parameters: values of the user, shown as text. Hidden values are masked by the service.

import { get, stackPath } from "../api/client.ts";
import { cut, value, webLink } from "../view/format.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { copyButton, empty } from "../view/parts.ts";
import type { StackContext, StackTab } from "./tab.ts";

/** What Heat's API says where a template says nothing. */
const NO_DESCRIPTION = "No description given";

interface Output {
  output_key: string;
  output_value?: unknown;
  output_error?: string;
  description: string;
}

interface Detail {
  outputs?: Output[];
  parameters: Record<string, unknown>;
}

abstract class DetailTab implements StackTab {
  protected readonly detail: Loader<Detail>;

  constructor(protected readonly of: StackContext, what: string) {
    this.detail = new Loader<Detail>(what, async (signal) => (await get<{ stack: Detail }>(stackPath(of.name, of.id), {}, signal)).stack);
    void this.detail.load();
  }

  leave(): void {
    this.detail.stop();
  }

  again(): void {
    this.detail.soon(1000);
  }

  delta(): void {
    this.detail.soon(3000);
  }

  abstract view(): unknown;
}

function shown(of: unknown): string {
  return typeof of === "string" ? of : of === null || of === undefined ? value(of) : JSON.stringify(of, null, 2);
}

function described(text: string): unknown {
  return text && text !== NO_DESCRIPTION ? html`<span class="muted block">${cut(text, 400)}</span>` : nothing;
}

export class OutputsTab extends DetailTab {
  constructor(of: StackContext) {
    super(of, "the outputs");
  }

  view(): unknown {
    return html`<div class="scroller tab-scroll"><div class="tab-inner">${this.detail.view((detail) => {
      const outputs = detail.outputs ?? [];
      if (!outputs.length) return html`<section class="card">${empty("No outputs", "The template has no section outputs. Outputs tell what others need: addresses, names, passwords.")}</section>`;
      return html`<section class="card"><dl class="values">${outputs.map((one) => {
        const text = shown(one.output_value);
        const link = webLink(one.output_value);
        return html`<div><dt><b>${one.output_key}</b>${described(one.description)}</dt>
          <dd>${one.output_error ? html`<span class="error-text wrap">${cut(one.output_error, 600)}</span>`
            : link ? html`<a class="mono wrap" href=${link} rel="noreferrer noopener" target="_blank">${cut(text, 2000)}</a>`
            : html`<pre class="mono wrap">${cut(text, 5000)}</pre>`}</dd>
          <dd class="value-copy">${one.output_error ? nothing : copyButton(text, one.output_key)}</dd></div>`;
      })}</dl></section>`;
    })}</div></div>`;
  }
}

/** The parts of a template that say what its parameters mean, in both languages of templates. */
interface Described {
  parameters?: Record<string, { description?: unknown } | null>;
  Parameters?: Record<string, { Description?: unknown } | null>;
}

export class ParametersTab extends DetailTab {
  /** Without the template, the values are still shown. */
  private readonly template: Loader<Described>;

  constructor(of: StackContext) {
    super(of, "the parameters");
    this.template = new Loader<Described>("the template", (signal) => get<Described>(stackPath(of.name, of.id, "/template"), {}, signal));
    void this.template.load();
  }

  override leave(): void {
    super.leave();
    this.template.stop();
  }

  override again(): void {
    super.again();
    this.template.soon(3000);
  }

  private description(name: string): string {
    const { parameters, Parameters } = this.template.data ?? {};
    const found = parameters?.[name]?.description ?? Parameters?.[name]?.Description;
    return typeof found === "string" ? found : "";
  }

  view(): unknown {
    return html`<div class="scroller tab-scroll"><div class="tab-inner">${this.detail.view((detail) => {
      const own = Object.entries(detail.parameters).filter(([name]) => !name.startsWith("OS::"));
      const given = Object.entries(detail.parameters).filter(([name]) => name.startsWith("OS::"));
      const rows = (list: [string, unknown][]): unknown => html`<dl class="values">${list.map(([name, one]) => html`<div><dt><b>${name}</b>${described(this.description(name))}</dt><dd><pre class="mono wrap">${cut(shown(one), 5000)}</pre></dd></div>`)}</dl>`;
      return html`<section class="card">${own.length ? rows(own) : empty("No parameters", "The template asks for no values.")}</section>
        <section class="card"><div class="card-head pad"><h2>Given by the service</h2></div>${rows(given)}</section>`;
    })}</div></div>`;
  }
}
