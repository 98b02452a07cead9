import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection } from "../../src/index.ts";

const MiB = 1_048_576;
/** 64 MiB of zeros in 64 kB. */
const bomb = gzipSync(new Uint8Array(64 * MiB));

const sendBomb = (response: ServerResponse) =>
  void response.writeHead(500, { "content-encoding": "gzip" }).end(bomb);

/** Writes as long as somebody reads. */
function sendEndless(response: ServerResponse) {
  response.writeHead(500);
  const chunk = new Uint8Array(65_536);
  const write = () => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once("drain", write);
  };
  write();
}

/** A fetch that counts the bytes of bodies, decoded, as they are read. */
function createCountingFetch() {
  const count = { bytes: 0 };
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { body, status, headers } = await globalThis.fetch(input, init);
    const counter = new TransformStream<Uint8Array, Uint8Array>(
      {
        transform(chunk, controller) {
          count.bytes += chunk.length;
          controller.enqueue(chunk);
        },
      },
      undefined,
      { highWaterMark: 0 },
    );
    return new Response(body?.pipeThrough(counter), { status, headers });
  };
  return { count, fetch };
}

const bodies = [
  ["64 MiB in 64 kB of gzip", sendBomb],
  ["a body without an end", sendEndless],
] as const;

async function start(session: "stateful" | "stateless") {
  const server = await startNotebookServer({ isSessionless: session === "stateless" });
  const { count, fetch } = createCountingFetch();
  const { url } = server;
  const notes = defineMcpClientConnection({ url, description: "Notes.", session, fetch });
  return { server, count, application: startApplication({ notes }) };
}

describe.each(["stateful", "stateless"] as const)("a refusal, %s, with", (session) => {
  test.each(bodies)("%s is read up to 1 MiB, of initialize", async (_, send) => {
    const { server, count, application } = await start(session);
    server.intercept((_request, response) => send(response));
    await application.step({}, (registry) => registry.tools());
    expect(application.takeEvents()).toEqual(["unavailable"]);
    // One for each attempt.
    expect(count.bytes).toBeLessThan(1.5 * MiB * server.requests.length);
  });

  test.each(bodies)("%s is read up to 1 MiB, of a call", async (_, send) => {
    const { server, count, application } = await start(session);
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.intercept(on("tools/call", (_request, response) => send(response)));
      count.bytes = 0;
      await expect(callTool(tools, "notes__list_notes")).rejects.toThrow("500");
    });
    expect(count.bytes).toBeLessThan(1.5 * MiB);
  });
});

test.each(bodies)(
  "%s is read up to 1 MiB, as the refusal of a ping or a DELETE",
  async (_, send) => {
    const { server, count, application } = await start("stateful");
    const session = await application.step({}, (registry) => registry.tools());
    server.intercept((_request, response) => send(response));
    count.bytes = 0;
    await application.step(session, async (registry) => {
      await registry.client("notes");
      const ready = registry.ready("notes", { timeoutMs: 200 });
      await expect(ready).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
    });
    const { results } = await application.provider.end(session, { principal: alice });
    expect(results).toMatchObject([{ ended: false, status: 500 }]);
    expect(count.bytes).toBeLessThan(1.5 * MiB * server.requests.length);
  },
);
