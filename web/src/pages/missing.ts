// An address that the page does not have.

import type { Page } from "../app.ts";
import { HOME } from "../router.ts";
import { html } from "../view/html.ts";
import { empty } from "../view/parts.ts";

export function missing(): Page {
  return {
    title: () => "Not found",
    leave: () => undefined,
    view: () => html`<div class="page"><div class="page-inner"><h1>Not found</h1>${empty("There is no such page", "The address may be cut off.", html`<a class="button primary" href=${HOME}>All stacks</a>`)}</div></div>`,
  };
}
