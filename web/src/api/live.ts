// One stream of a view: reconnects with its last number, rests in hidden tabs, and is shared by the tabs of a browser.
//
// HTTP/1.1 gives a browser six connections to a host. Tabs therefore share: one tab reads each address (a Web Lock named
// after it) and tells the others (a BroadcastChannel); at most four addresses are read at once (four more locks). A tab
// that gets no stream asks for the view every five seconds instead.

import { reached, request, Refusal } from "./client.ts";
import { readMessages, type Message } from "./sse.ts";

type Outcome = "cut" | "lost" | "gone" | "refused";
export type Link = "connecting" | "live" | "polling" | "resting" | "lost" | "gone";

export interface Handlers {
  message(event: string, data: unknown): void;
  link(state: Link): void;
  /** Read the whole view again: something may have been missed, or there is no stream. */
  again(): void;
}

const SLOTS = 4;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
const POLL_MS = 5000;
const HIDDEN_MS = 5000;

export class Live {
  private last = "";
  private over = new AbortController();
  private reading: AbortController | null = null;
  private channel: BroadcastChannel | null = null;
  private poll = 0;
  private rest = 0;
  private resting = false;
  private gone = false;
  private wake: () => void = () => undefined;
  private readonly onVisible = (): void => this.visibility();

  constructor(
    private readonly url: string,
    private readonly handlers: Handlers,
  ) {
    document.addEventListener("visibilitychange", this.onVisible);
    this.channel = new BroadcastChannel(`isotherm:${url}`);
    this.channel.onmessage = (told: MessageEvent<Message>) => this.take(told.data);
    this.startPolling();
    if (document.hidden) this.visibility();
    void this.lead();
  }

  close(): void {
    document.removeEventListener("visibilitychange", this.onVisible);
    this.over.abort();
    this.reading?.abort();
    this.channel?.close();
    this.channel = null;
    window.clearInterval(this.poll);
    window.clearTimeout(this.rest);
    this.wake();
  }

  /** Wait to be the tab that reads this address, then read for as long as the tab is seen. A tab that rests lets another read. */
  private async lead(): Promise<void> {
    while (!this.over.signal.aborted && !this.gone) {
      if (this.resting) await this.pause(LONGEST_WAIT_MS);
      else if (!navigator.locks) await this.follow();
      else {
        try {
          await navigator.locks.request(`isotherm:${this.url}`, { signal: this.over.signal }, () => this.follow());
        } catch (error) {
          if ((error as Error).name !== "AbortError") throw error;
        }
      }
    }
  }

  private async follow(): Promise<void> {
    let wait = FIRST_WAIT_MS;
    while (!this.over.signal.aborted && !this.resting) {
      const began = Date.now();
      const outcome = await this.withSlot();
      if (outcome === "gone") return this.ended();
      if (outcome === "refused") {
        this.gone = true;
        return;
      }
      if (this.resting) return;
      if (Date.now() - began > LONGEST_WAIT_MS) wait = FIRST_WAIT_MS;
      // With jitter, so that the pages of a restarted service do not all come back at once.
      await this.pause(outcome === "cut" ? 100 : wait * (0.5 + Math.random() / 2));
      wait = outcome === "cut" ? FIRST_WAIT_MS : Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  }

  /** The service has no stream of this view any more. It is read once more, and then it asks for nothing. */
  private ended(): void {
    this.gone = true;
    window.clearInterval(this.poll);
    this.handlers.link("gone");
    this.handlers.again();
  }

  private async withSlot(): Promise<Outcome | "busy"> {
    if (!navigator.locks) return this.read();
    for (let slot = 0; slot < SLOTS; slot += 1) {
      const outcome = await navigator.locks.request(`isotherm-slot-${slot}`, { ifAvailable: true }, (lock) => (lock ? this.read() : null));
      if (outcome) return outcome;
    }
    return "busy";
  }

  private async read(): Promise<Outcome> {
    this.reading = new AbortController();
    let cut = false;
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (this.last) headers["Last-Event-ID"] = this.last;
      const answer = await request(this.url, { signal: this.reading.signal, headers });
      await readMessages(answer.body as ReadableStream<Uint8Array>, (message) => {
        cut ||= message.event === "cut";
        this.channel?.postMessage(message);
        this.take(message);
      });
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) return "gone";
      if (error instanceof Refusal && [401, 403].includes(error.status)) return "refused";
      if ((error as Error).name !== "AbortError") reached(false);
    }
    if (!this.over.signal.aborted && !this.resting) {
      this.handlers.link("lost");
      this.startPolling();
    }
    return cut ? "cut" : "lost";
  }

  private take(message: Message): void {
    if (message.id) this.last = message.id;
    // A tab that rests reads the view again when it is seen: until then it asks for nothing.
    if (this.resting) return;
    window.clearInterval(this.poll);
    this.poll = 0;
    reached(true);
    this.handlers.link("live");
    if (message.event === "cut") this.startPolling();
    this.handlers.message(message.event, JSON.parse(message.data));
  }

  private startPolling(): void {
    if (this.poll) return;
    this.poll = window.setInterval(() => {
      if (document.hidden) return;
      this.handlers.link("polling");
      this.handlers.again();
    }, POLL_MS);
  }

  private visibility(): void {
    window.clearTimeout(this.rest);
    if (document.hidden) {
      this.rest = window.setTimeout(() => {
        this.resting = true;
        this.handlers.link("resting");
        this.reading?.abort();
        this.wake();
      }, HIDDEN_MS);
    } else if (this.resting) {
      this.resting = false;
      this.handlers.again();
      this.startPolling();
      this.wake();
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = window.setTimeout(resolve, ms);
      this.wake = () => {
        window.clearTimeout(timer);
        resolve();
      };
    });
  }
}
