// A dialog that shows a plan before it does it. What it does is bound to the generation of the plan.

import { Refusal } from "../api/client.ts";
import type { Plan } from "../api/types.ts";
import { notify } from "../app.ts";
import { show } from "../view/dialog.ts";
import { html } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { counts, entries } from "./plan_view.ts";
import type { StackContext } from "./tab.ts";

export interface Planned {
  title: string;
  confirm: string;
  /** What it does, in words; the plan follows. */
  words: unknown;
  plan(signal: AbortSignal): Promise<{ plan: Plan }>;
  apply(generation: number): Promise<unknown>;
  /** What is said once it has begun. */
  begun: string;
}

export function planned(of: StackContext, asked: Planned): void {
  const plan = new Loader<Plan>("the plan", async (signal) => (await asked.plan(signal)).plan);
  void plan.load();
  show({
    title: asked.title,
    confirm: asked.confirm,
    danger: true,
    ready: () => plan.data !== null && !plan.error,
    content: () => html`<p>${asked.words}</p>
      ${plan.view((found) => html`<p class="card-head">${counts(found)}</p>
        <div class="dialog-plan" role="region" aria-label="What it would do" tabindex="0">${entries(found)}</div>`)}`,
    done: async () => {
      if (!plan.data) return;
      try {
        await asked.apply(plan.data.generation);
      } catch (error) {
        if (error instanceof Refusal && error.type === "GenerationMoved") void plan.load();
        throw error;
      }
      notify(asked.begun);
      of.again();
    },
  });
}
