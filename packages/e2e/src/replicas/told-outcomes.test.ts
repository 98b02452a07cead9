import { createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createMCPClient } from "@ai-sdk/mcp";
import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import { createSessionHandler } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../../server/test/listen.ts";

/** Our server, whose tool `pay` takes some time, or never ends. */
async function startPaying(ms: number) {
  let runs = 0;
  const handler = createSessionHandler({
    principal: "none",
    createServer: () => {
      const mcp = new McpServer({ name: "paying", version: "1.0.0" });
      mcp.registerTool("pay", {}, async () => {
        runs += 1;
        await new Promise((resolve) => {
          if (ms !== Infinity) setTimeout(resolve, ms);
        });
        return { content: [{ type: "text", text: `paid ${runs}` }] };
      });
      return mcp;
    },
  });
  const server = await listen(toNodeHandler(handler));
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { handler, url: server.url, runs: () => runs };
}

const send = (url: string, method: string, headers: object, body: string) => {
  const sent = httpRequest(url, { method, headers: headers as Record<string, string> });
  sent.on("error", () => undefined).end(body);
  return sent;
};

/** A proxy that sends each call of a tool twice, and passes on the second answer, as Deno and some proxies do. */
async function startRepeating(target: string): Promise<string> {
  const proxy: Server = createServer((incoming, outgoing) => {
    void (async () => {
      const body = await text(incoming);
      const forward = () => send(target, incoming.method!, incoming.headers, body);
      if (body.includes('"tools/call"')) {
        forward().on("response", (lost) => lost.resume());
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      forward().on("response", (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
    })();
  });
  await new Promise<void>((resolve) => void proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
}

test.each([
  ["the call that runs", 400],
  ["the call that is over", 0],
])(
  "a call that a proxy sends twice runs once on our server, and gets the answer of %s",
  async (_, ms) => {
    const { url, runs } = await startPaying(ms);
    const proxied = await startRepeating(url);
    const fetch = createSessionFetch({ url: proxied, slot: createSessionSlot() });
    const client = await createMCPClient({ transport: { type: "http", url: proxied, fetch } });
    const result = await client.callTool({ name: "pay", arguments: {} });
    await client.close();
    expect(result.content).toEqual([{ type: "text", text: "paid 1" }]);
    expect(runs()).toBe(1);
  },
);

test.each(["stateful", "stateless", undefined] as const)(
  "our server's unknown outcome is that error for our own caller, session: %s",
  async (session) => {
    const { handler, url, runs } = await startPaying(Infinity);
    const shop = defineMcpClientConnection({
      ...{ url, description: "A shop." },
      ...(session && { session }),
    });
    const provider = createConnectionProvider({ connections: { shop } });
    const run = provider.create({ state: undefined, principal: { type: "anonymous" } });
    onTestFinished(() => run.dispose());
    const tools = await run.tools();
    const call = Promise.resolve(
      tools["shop__pay"]!.execute!({}, { toolCallId: "1", messages: [], context: {} } as never),
    ).catch((failure: unknown) => failure);
    await expect.poll(runs).toBe(1);
    await handler.drain({ timeoutMs: 10 });
    expect(await call).toMatchObject({
      name: "McpSessionError",
      code: "OUTCOME_UNKNOWN",
      data: { connection: "shop", method: "tools/call" },
    });
  },
);

test("the events with which our server begins a stream are no errors for @ai-sdk/mcp beneath our fetch", async () => {
  const { url } = await startPaying(100);
  const errors: unknown[] = [];
  const fetch = createSessionFetch({ url, slot: createSessionSlot() });
  const client = await createMCPClient({
    transport: { type: "http", url, fetch },
    onUncaughtError: (error) => errors.push(error),
  });
  await client.callTool({ name: "pay", arguments: {} });
  await client.close();
  expect(errors).toEqual([]);
});
