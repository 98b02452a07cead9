import fc from "fast-check";
import { expect, test } from "vitest";
import { eventText } from "../../test/mcp-server.ts";
import { eventMessages } from "../../test/rpc-client.ts";
import { startRestoring } from "../../test/answer-restorer.ts";
import { createEventAnswerStream } from "./answer-stream.ts";
import type { JsonRpcId } from "../wire/json-rpc.ts";
import type { PendingRequest } from "../wire/request-ids.ts";

/** Bytes that arrive in chunks of these sizes; the rest is the last chunk. */
function chunks(bytes: Uint8Array, sizes: number[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      let start = 0;
      for (const size of [...sizes, bytes.length]) {
        if (start < bytes.length) controller.enqueue(bytes.slice(start, start + size));
        start += size;
      }
      controller.close();
    },
  });
}

/** The messages that the client gets of an SSE stream in which `owner` is answered. */
async function restore(
  text: string,
  sizes: number[],
  { ids, restorerOf }: ReturnType<typeof startRestoring>,
  owner: PendingRequest,
) {
  const stream = createEventAnswerStream({
    body: chunks(new TextEncoder().encode(text), sizes),
    // Several requests share the stream here; that of one request would keep the others back.
    restore: restorerOf(),
    signal: undefined,
    answered: () => ids.find(owner.wireId) === undefined,
    failure: () => "no answer",
    resume: async () => undefined,
    onEnd: () => undefined,
  });
  return eventMessages(await new Response(stream).text());
}

const answer = fc.record({
  text: fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "ä", "😀", "\n", '"id":"', "\u2028", "\\") }),
    // Such a message is not printed again.
    fc.constantFrom("x".repeat(50_000), "ä".repeat(20_000)),
  ),
  keys: fc.constantFrom(
    ["id", "result", "jsonrpc"],
    ["result", "jsonrpc", "id"],
    ["jsonrpc", "id", "result"],
    ["result", "id", "jsonrpc"],
  ),
  isPretty: fc.boolean(),
  otherLine: fc.constantFrom([], [": comment"], ["id: 5"], ["event: message"], ["retry: 9"]),
});
type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never;

/** An answer under this id, with another request's id as a decoy in every place that is not its own. */
function message({ text, keys }: Answer, id: JsonRpcId, decoy: string) {
  const fields: Record<string, unknown> = {
    jsonrpc: "2.0",
    id,
    result: { id: decoy, text, structuredContent: { jsonrpc: "2.0", id: decoy } },
  };
  return Object.fromEntries(keys.map((key) => [key, fields[key]]));
}

test("restores the ids of several requests on one stream and nothing else, however it is cut", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(answer, { minLength: 1, maxLength: 4 }),
      fc.constantFrom("\n", "\r\n"),
      fc.array(fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 30_000 })), {
        maxLength: 40,
      }),
      async (answers, newline, sizes) => {
        const restoring = startRestoring();
        const waiting = answers.map((entry, n) => {
          const id = n % 2 === 0 ? n : `id-${n}`;
          return { entry, id, ...restoring.ids.send({ jsonrpc: "2.0", id, method: "tools/call" }) };
        });
        const decoy = waiting[0]!.pending.wireId;
        const text = waiting
          .map(({ entry, pending }) => {
            const json = JSON.stringify(
              message(entry, pending.wireId, decoy),
              null,
              entry.isPretty ? 1 : 0,
            );
            const dataLines = json.split("\n").map((line) => `data: ${line}`);
            return [...entry.otherLine, ...dataLines, "", ""].join(newline);
          })
          .join("");
        expect(await restore(text, sizes, restoring, waiting.at(-1)!.pending)).toEqual(
          waiting.map(({ entry, id }) => message(entry, id, decoy)),
        );
      },
    ),
    { numRuns: 150 },
  );
});

const progress = (progressToken: unknown) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken, note: "ä😀" },
});

test("restores a small stream in chunks of every size", async () => {
  const restoring = startRestoring();
  for (let size = 1; size < 40; size += 1) {
    const params = { _meta: { progressToken: "t" } };
    const { pending } = restoring.ids.send({ jsonrpc: "2.0", id: 5, method: "a", params });
    const text = [
      ": hi\r\n\r\n",
      eventText(progress(pending.wireId), "1"),
      `data: {"jsonrpc":"2.0",\r\ndata: "id":"${pending.wireId}","result":{"t":"ä"}}\r\n\r\n`,
    ].join("");
    const sizes = Array.from({ length: text.length * 2 }, () => size);
    expect(await restore(text, sizes, restoring, pending)).toEqual([
      progress("t"),
      { jsonrpc: "2.0", id: 5, result: { t: "ä" } },
    ]);
  }
});
