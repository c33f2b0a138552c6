// Reads server-sent events from a fetch response, since EventSource supports only GET.

export interface ServerEvent {
  event: string;
  data: string;
}

/** Parses text that arrives in arbitrary chunks, and returns complete events. */
export class EventParser {
  private rest = "";
  private event = "";
  private data: string[] = [];

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    // A carriage return at the end may be the first half of a line ending.
    this.rest += text;
    const whole = this.rest.endsWith("\r") ? this.rest.length - 1 : this.rest.length;
    const lines = this.rest.slice(0, whole).split(/\r\n|\n|\r/);
    this.rest = (lines.pop() ?? "") + this.rest.slice(whole);
    for (const line of lines) {
      const event = this.take(line);
      if (event) events.push(event);
    }
    return events;
  }

  private take(line: string): ServerEvent | null {
    if (line === "") {
      const { event, data } = this;
      this.event = "";
      this.data = [];
      return data.length ? { event: event || "message", data: data.join("\n") } : null;
    }
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event = value;
    if (field === "data") this.data.push(value);
    return null;
  }
}

/** Yields the events of a response. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
    yield* parser.push("\n\n");
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
