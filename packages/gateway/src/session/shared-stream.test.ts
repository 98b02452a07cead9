import { expect, test } from "vitest";
import { eventAnswer, messageEvent, partsOf } from "../base/events.ts";
import { createSharedStream } from "./shared-stream.ts";
import type { OpenUpstream } from "./upstreams.ts";

const count = async (response: Response) => {
  let bytes = 0;
  for await (const part of partsOf(response.body!.getReader())) bytes += part.byteLength;
  return bytes;
};

test("a listener that does not read is left at 4 MB, and the others hear all", async () => {
  const said = messageEvent({
    jsonrpc: "2.0",
    method: "notifications/message",
    params: { level: "info", data: "x".repeat(1_000_000) },
  });
  const begun = Promise.withResolvers<undefined>();
  let left = 20;
  const server = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await begun.promise;
      if ((left -= 1) < 0) controller.close();
      else controller.enqueue(said);
    },
  });
  const upstream = { listen: async () => eventAnswer(server) } as unknown as OpenUpstream;
  const shared = createSharedStream(async () => upstream);
  const [reads, sleeps] = [await shared.listen(), await shared.listen()];
  begun.resolve(undefined);
  expect(await count(reads)).toBe(20 * said.byteLength);
  expect(await count(sleeps)).toBeLessThanOrEqual(5 * said.byteLength);
});

test("a client that comes when the server's stream has just ended is not left waiting", async () => {
  const ended = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
  const upstream = { listen: async () => eventAnswer(ended) } as unknown as OpenUpstream;
  const shared = createSharedStream(async () => upstream);
  expect(await count(await shared.listen())).toBe(0);
});
