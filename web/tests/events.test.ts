import { describe, expect, it } from "vitest";
import { EventParser, readEvents } from "../src/api/events";

const text = 'event: progress\ndata: {"doing":"a"}\n\n: a comment\nevent: done\r\ndata: one\r\ndata: two\r\n\r\ndata: alone\n\nevent: empty\n\n';
const events = [
  { event: "progress", data: '{"doing":"a"}' },
  { event: "done", data: "one\ntwo" },
  { event: "message", data: "alone" },
];

describe("server-sent events", () => {
  it.each([1, 2, 3, 7, 1000])("are the same in chunks of %i", (size) => {
    const parser = new EventParser();
    const found = [];
    for (let place = 0; place < text.length; place += size) found.push(...parser.push(text.slice(place, place + size)));
    expect(found).toEqual(events);
  });

  it("are read from bytes split inside a character", async () => {
    const bytes = new TextEncoder().encode("data: é☃𝄞\n\n");
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
        controller.close();
      },
    });
    const found = [];
    for await (const event of readEvents(body)) found.push(event.data);
    expect(found).toEqual(["é☃𝄞"]);
  });

  it("are returned even if the last empty line is missing", async () => {
    const body = new Blob(["event: done\ndata: x"]).stream();
    const found = [];
    for await (const event of readEvents(body)) found.push(event);
    expect(found).toEqual([{ event: "done", data: "x" }]);
  });
});
