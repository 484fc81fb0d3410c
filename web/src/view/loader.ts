// One thing that a view reads: what is known, what went wrong, and reading it again. A newer read ends the older one.

import { Refusal } from "../api/client.ts";
import { refresh } from "../app.ts";
import { loading, trouble } from "./parts.ts";

/** What a view may cost: reads that changes ask for take at most one part in so many of the time. */
const PARTS = 20;
const LONGEST_PAUSE_MS = 20_000;

export class Loader<T> {
  data: T | null = null;
  error: unknown = null;
  busy = false;
  private running: AbortController | null = null;
  private waiting = 0;
  private due = 0;
  private last = 0;
  private tookMs = 0;

  constructor(
    private readonly what: string,
    private readonly read: (signal: AbortSignal) => Promise<T>,
    private readonly got: (data: T) => void = () => undefined,
  ) {}

  async load(): Promise<void> {
    this.running?.abort();
    const mine = new AbortController();
    this.running = mine;
    this.busy = true;
    this.last = Date.now();
    try {
      const data = await this.read(mine.signal);
      if (mine.signal.aborted) return;
      this.data = data;
      this.tookMs = Date.now() - this.last;
      this.error = null;
      this.got(data);
    } catch (error) {
      if (mine.signal.aborted || (error as Error).name === "AbortError") return;
      // Without a connection, what was last seen stays on the page: the bar at the top says so.
      if (!(error instanceof Refusal && error.status === 0 && this.data !== null)) this.error = error;
    }
    this.busy = false;
    refresh();
  }

  /** Load soon, at most once in `every` milliseconds. */
  soon(every = 1000): void {
    const due = Math.max(Date.now(), this.last + every);
    if (this.waiting && this.due <= due) return;
    window.clearTimeout(this.waiting);
    this.due = due;
    this.waiting = window.setTimeout(() => {
      this.waiting = 0;
      void this.load();
    }, due - Date.now());
  }

  /** Load soon, and less often the longer it takes: for what changes ask for while a large operation is in progress. */
  seldom(every = 1000): void {
    this.soon(Math.max(every, Math.min(this.tookMs * PARTS, LONGEST_PAUSE_MS)));
  }

  stop(): void {
    this.running?.abort();
    window.clearTimeout(this.waiting);
    this.waiting = 0;
  }

  /** Draw with the data, or say why there are none. `name`: of the page, where it has no heading without the data. */
  view(draw: (data: T) => unknown, name = ""): unknown {
    if (this.error && (this.data === null || !(this.error instanceof Refusal && this.error.status >= 500))) {
      return trouble(this.error, () => {
        this.error = null;
        void this.load();
        refresh();
      }, name);
    }
    return this.data === null ? loading(this.what) : draw(this.data);
  }
}
