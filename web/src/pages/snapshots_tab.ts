// Snapshots: take, restore, delete.

import { ask, get, ifGeneration, now, stackPath } from "../api/client.ts";
import type { Plan } from "../api/types.ts";
import { show } from "../view/dialog.ts";
import { ago, clip, seconds } from "../view/format.ts";
import { html } from "../view/html.ts";
import { Loader } from "../view/loader.ts";
import { empty, statusPill } from "../view/parts.ts";
import * as actions from "./actions.ts";
import { planned } from "./planned.ts";
import type { StackContext, StackTab } from "./tab.ts";

interface Snapshot {
  id: string;
  name: string | null;
  status: string;
  status_reason: string;
  creation_time: string;
}

const AGAIN_MS = 1500;

export class SnapshotsTab implements StackTab {
  private readonly list: Loader<Snapshot[]>;

  constructor(private readonly of: StackContext) {
    this.list = new Loader<Snapshot[]>("the snapshots", async (signal) => (await get<{ snapshots: Snapshot[] }>(stackPath(of.name, of.id, "/snapshots"), {}, signal)).snapshots, (found) => {
      // A snapshot ends after the last step of its operation, of which the stream tells.
      if (found.some((one) => one.status === "IN_PROGRESS")) this.list.soon(AGAIN_MS);
    });
    void this.list.load();
  }

  leave(): void {
    this.list.stop();
  }

  again(): void {
    this.list.soon();
  }

  delta(): void {
    this.list.soon(2000);
  }

  view(): unknown {
    const summary = this.of.summary();
    const not = (name: string): string => (summary?.may.includes(name) ? "" : (summary?.may_not[name]?.text ?? "Not possible now."));
    return html`<div class="scroller tab-scroll"><div class="tab-inner"><section class="card">
      <div class="card-tools"><span class="muted">A snapshot keeps the template, the values, and copies of volumes and servers.</span><span class="grow"></span>
        <button class="button" ?disabled=${Boolean(not("snapshot"))} title=${not("snapshot")} @click=${() => actions.snapshot(this.of, () => void this.list.load())}>Take a snapshot…</button></div>
      ${this.list.view((found) => found.length ? html`<table class="table snapshots"><thead><tr><th>name</th><th>status</th><th>taken</th><th><span class="sr-only">actions</span></th></tr></thead><tbody>
        ${found.map((one) => html`<tr><td><b>${clip(one.name ?? one.id, 80)}</b></td>
          <td>${statusPill(`SNAPSHOT_${one.status}`)}</td><td class="muted">${ago(seconds(one.creation_time) ?? now(), now())}</td>
          <td class="right"><button class="button small" ?disabled=${Boolean(not("restore")) || one.status !== "COMPLETE"} title=${not("restore")} @click=${() => this.restore(one)}>Restore…</button>
            <button class="button small danger" @click=${() => this.remove(one)}>Delete…</button></td></tr>`)}</tbody></table>`
        : empty("No snapshot", "Take one before a change that you may want to undo."))}
    </section></div></div>`;
  }

  /** Show the plan of a restore; restore to what was planned. */
  private restore(one: Snapshot): void {
    const path = (rest: string): string => stackPath(this.of.name, this.of.id, `/snapshots/${encodeURIComponent(one.id)}${rest}`);
    planned(this.of, {
      title: `Restore ${one.name ?? one.id}?`,
      confirm: "Restore it",
      words: `The stack goes back to the template and the values of this snapshot. Volumes and servers are made again from
        their copies where their types can do so; what was added since is deleted.`,
      plan: (signal) => ask<{ plan: Plan }>("POST", path("/plan"), undefined, { signal }),
      apply: (generation) => ask("POST", path("/restore"), undefined, ifGeneration(generation)),
      begun: "The restore has begun.",
    });
  }

  private remove(one: Snapshot): void {
    show({
      title: `Delete the snapshot ${one.name ?? one.id}?`,
      confirm: "Delete it",
      danger: true,
      content: () => html`<p>Its copies in the cloud are deleted too.</p>`,
      done: async () => {
        await ask("DELETE", stackPath(this.of.name, this.of.id, `/snapshots/${encodeURIComponent(one.id)}`));
        void this.list.load();
      },
    });
  }
}
