// A page whose script is loaded when it is opened: what most visits do not need is no part of the first load.

import type { Page } from "../app.ts";
import { Loader } from "../view/loader.ts";

export class LaterPage implements Page {
  private page: Page | null = null;
  private readonly script: Loader<() => Page>;

  constructor(
    private readonly name: string,
    load: () => Promise<() => Page>,
  ) {
    this.script = new Loader<() => Page>("the page", load, (make) => (this.page = make()));
    void this.script.load();
  }

  title(): string {
    return this.page?.title() ?? this.name;
  }

  view(): unknown {
    return this.script.view(() => this.page?.view(), this.name);
  }

  moved(): void {
    this.page?.moved?.();
  }

  key(event: KeyboardEvent): boolean {
    return this.page?.key?.(event) ?? false;
  }

  leave(): void {
    this.script.stop();
    this.page?.leave();
  }
}
