// The template as it is applied, in an editor that only shows. A resource leads to its line, and a line to its resource.

import { get, stackPath } from "../api/client.ts";
import { refresh } from "../app.ts";
import { lineOf, resourceAt } from "../editor/lines.ts";
import { makeEditor, type Editor } from "../editor/load.ts";
import { query, setQuery, stackHref } from "../router.ts";
import { html, nothing } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { toYaml } from "../view/yaml.ts";
import type { StackContext, StackTab } from "./tab.ts";

export class TemplateTab implements StackTab {
  private readonly template: Loader<string>;
  private editor: Editor | null = null;
  private mounting = false;
  private here = "";

  constructor(private readonly of: StackContext) {
    this.template = new Loader<string>("the template", async (signal) => toYaml(await get<unknown>(stackPath(of.name, of.id, "/template"), {}, signal)), (text) => {
      if (this.editor && this.editor.text() !== text) this.editor.setText(text);
    });
    void this.template.load();
  }

  moved(): void {
    const line = Number(query("line"));
    if (line) this.editor?.show(line);
    else if (query("r")) this.editor?.show(lineOf(this.template.data ?? "", query("r")));
  }

  leave(): void {
    this.editor?.close();
    this.editor = null;
    this.template.stop();
  }

  again(): void {
    this.template.soon(3000);
  }

  private async mount(): Promise<void> {
    const parent = document.querySelector<HTMLElement>(".template-editor");
    if (!parent || this.editor || this.mounting || this.template.data === null) return;
    this.mounting = true;
    this.editor = await makeEditor(parent, {
      text: this.template.data,
      label: "Template",
      readOnly: true,
      line: (line) => {
        const found = resourceAt(this.template.data ?? "", line);
        if (found === this.here) return;
        this.here = found;
        refresh();
      },
    });
    this.mounting = false;
    this.moved();
  }

  view(): unknown {
    return html`<div class="tab-fill">${this.template.view(() => {
      queueMicrotask(() => void this.mount());
      const may = this.of.summary()?.may.includes("update");
      return html`<section class="card fill">
        <div class="card-tools"><span class="muted">As it is applied. ${this.here ? html`The line belongs to <button class="link" @click=${() => setQuery({ r: this.here, line: "" })}>${this.here}</button>.` : "Put the cursor on a resource to find it."}</span>
          <span class="grow"></span>${may ? html`<a class="button" href=${stackHref(this.of.name, this.of.id, "update")}>Change it…</a>` : nothing}</div>
        <div class="template-editor editor"></div></section>`;
    })}</div>`;
  }
}
