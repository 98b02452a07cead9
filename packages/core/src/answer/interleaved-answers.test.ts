import fc from "fast-check";
import { expect, test } from "vitest";
import { eventText } from "../../test/mcp-server.ts";
import { eventMessages } from "../../test/rpc-client.ts";
import { startRestoring } from "../../test/answer-restorer.ts";
import { createEventAnswerStream } from "./answer-stream.ts";
import type { JsonRpcId } from "../wire/json-rpc.ts";
import type { PendingRequest } from "../wire/request-ids.ts";

/** The stream of one request, and the end that its chunks are put in at. */
function openStream(
  { ids, restorerOf }: ReturnType<typeof startRestoring>,
  pending: PendingRequest,
) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const stream = createEventAnswerStream({
    body: readable,
    restore: restorerOf(pending),
    signal: undefined,
    answered: () => ids.find(pending.wireId) === undefined,
    failure: () => JSON.stringify({ id: pending.request.id, error: "no answer" }),
    resume: async () => undefined,
    onEnd: () => undefined,
  });
  return { writer: writable.getWriter(), text: new Response(stream).text() };
}

const result = (id: unknown, of: number) => ({ jsonrpc: "2.0", id, result: { of, text: "ä😀" } });
const progress = (progressToken: unknown) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken },
});

/** What a stream holds: its own answer and progress, and strays, by the number of the request. */
const plan = fc.record({
  clientId: fc.constantFrom<JsonRpcId>(0, 1, "0", "a"),
  before: fc.array(fc.nat(4), { maxLength: 3 }),
  after: fc.array(fc.nat(4), { maxLength: 3 }),
  newline: fc.constantFrom("\n", "\r\n", "\r"),
  cuts: fc.array(fc.nat(400), { maxLength: 12 }),
});

test("restores ids on many streams at once, at every chunk boundary and interleaving, and crosses none", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(plan, { minLength: 2, maxLength: 5 }),
      fc.scheduler(),
      async (plans, scheduler) => {
        const restoring = startRestoring();
        const calls = plans.map(({ clientId }, number) => {
          const params = { _meta: { progressToken: `token-${number}` } };
          return restoring.ids.send({ jsonrpc: "2.0", id: clientId, method: "tools/call", params });
        });
        const answers = Promise.all(
          plans.map(async ({ before, after, newline, cuts }, number) => {
            const { pending } = calls[number]!;
            // An answer to another request, or to one that is not there, is on the wrong stream.
            const strays = (numbers: readonly number[]) =>
              numbers
                .filter((other) => other !== number)
                .map((other) => eventText(result(calls[other]?.pending.wireId ?? other, other)));
            const text = [
              ...strays(before),
              eventText(progress(pending.wireId), "e"),
              eventText(result(pending.wireId, number)),
              ...strays(after),
              eventText(result(pending.wireId, number)),
            ].join("");
            const bytes = new TextEncoder().encode(text.replaceAll("\n", newline));
            const ends = [...new Set([...cuts.map((cut) => cut % bytes.length), bytes.length])];
            const stream = openStream(restoring, pending);
            let start = 0;
            for (const end of ends.toSorted((a, b) => a - b)) {
              const chunk = bytes.slice(start, end);
              start = end;
              // Which stream goes on next is the scheduler's to say.
              await scheduler.schedule(Promise.resolve());
              if (chunk.length > 0) await stream.writer.write(chunk);
            }
            await stream.writer.close();
            return await stream.text;
          }),
        );
        const texts = await scheduler.waitFor(answers);
        for (const [number, { clientId }] of plans.entries()) {
          expect(eventMessages(texts[number]!)).toEqual([
            progress(`token-${number}`),
            result(clientId, number),
          ]);
        }
      },
    ),
    { numRuns: 200 },
  );
});
