import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { eventText } from "../../test/mcp-server.ts";
import { utf8 } from "../wire/byte-parts.ts";
import { type Observe, observeAnswer } from "./observe-answer.ts";

const message = (text: string) => ({ jsonrpc: "2.0", id: 1, result: { text } });

/** An answer in these pieces. */
function answerOf(chunks: readonly Uint8Array[], type: string): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": type, "x-own": "1" } });
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const places = [0, ...at.map((place) => place % (bytes.length + 1)), bytes.length];
  const sorted = places.toSorted((a, b) => a - b);
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

test("passes each byte, and sees each message once, however it is cut", async () => {
  const part = fc.constantFrom("a", "\n", "\r\n\r\n", "data: ", "世界", "🎉", "\u2028", '"', "\\");
  const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
  const texts = fc.array(text, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(texts, fc.array(fc.nat()), fc.boolean(), async (all, places, isStream) => {
      const sent = isStream ? all.map(message) : [message(all[0]!)];
      const whole = isStream
        ? sent.map((each) => eventText(each)).join("")
        : JSON.stringify(sent[0]);
      const observe = vi.fn<Observe>();
      const type = isStream ? "text/event-stream" : "application/json";
      const answer = observeAnswer(answerOf(cut(utf8(whole), places), type), observe);
      expect([answer.headers.get("x-own"), await answer.text()]).toEqual(["1", whole]);
      expect(observe.mock.calls).toEqual(sent.map((each) => [each, JSON.stringify(each).length]));
    }),
    { numRuns: 50 },
  );
});

test("a message is seen before its end is passed on", async () => {
  const seen: string[] = [];
  const answer = observeAnswer(
    answerOf([utf8(eventText(message("a"))), utf8(eventText(message("b")))], "text/event-stream"),
    () => seen.push("seen"),
  );
  const reader = answer.body!.getReader();
  await reader.read();
  expect(seen.length).toBeGreaterThan(0);
});

test.each(["application/json", "text/event-stream"])(
  "what is too large is passed on unread, and said once (%s)",
  async (type) => {
    const chunk = utf8(`data: ${"x".repeat(1_000_000)}`);
    const observe = vi.fn<Observe>();
    const answer = observeAnswer(
      answerOf(
        Array.from({ length: 6 }, () => chunk),
        type,
      ),
      observe,
    );
    expect((await answer.arrayBuffer()).byteLength).toBe(6 * chunk.length);
    expect(observe.mock.calls).toEqual([[undefined, Infinity]]);
  },
);

test("a client that cancels its answer stops the server's", async () => {
  const cancel = vi.fn<(reason: unknown) => void>();
  const body = new ReadableStream<Uint8Array>({ cancel });
  await observeAnswer(new Response(body), vi.fn<Observe>()).body!.cancel("enough");
  await expect.poll(() => cancel.mock.calls).toEqual([["enough"]]);
});
