// Server-sent events from a response body. `fetch` is used, since EventSource cannot send the header that the cookie needs.

export interface Message {
  event: string;
  data: string;
  id: string;
}

/** Split a text that grows into messages; what is not complete yet stays for the next piece. */
export class Splitter {
  private rest = "";

  push(text: string): Message[] {
    this.rest += text.replace(/\r\n/g, "\n");
    const blocks = this.rest.split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.map(message).filter((one): one is Message => one !== null);
  }
}

function message(block: string): Message | null {
  const found: Message = { event: "message", data: "", id: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) continue; // a comment keeps the connection open
    const value = line.slice(at + 1).replace(/^ /, "");
    const field = line.slice(0, at);
    if (field === "data") data.push(value);
    else if (field === "event") found.event = value;
    else if (field === "id") found.id = value;
  }
  if (!data.length) return null;
  found.data = data.join("\n");
  return found;
}

/** Call `each` for every message of a body, until it ends. */
export async function readMessages(body: ReadableStream<Uint8Array>, each: (message: Message) => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  const splitter = new Splitter();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    splitter.push(value).forEach(each);
  }
}
