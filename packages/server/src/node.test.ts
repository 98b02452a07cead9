import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { listen } from "../test/listen.ts";
import { createReplicas } from "../test/replicas.ts";
import { toNodeHandler } from "./node.ts";

async function connect(url: string) {
  const client = new Client(
    { name: "client", version: "1" },
    { capabilities: { elicitation: { form: {} } } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  return { client, transport };
}

const textOf = (result: unknown) =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join();

test("serves the official client over node:http: calls, questions, notifications, the end", async () => {
  const { handler } = createReplicas().start();
  await using server = await listen(toNodeHandler(handler));
  const { client, transport } = await connect(server.url);
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: "accept",
    content: { name: "Ada" },
  }));
  expect(textOf(await client.callTool({ name: "add", arguments: { text: "a" } }))).toBe("1 notes");
  // Over the listening stream, and over the call's own.
  expect(textOf(await client.callTool({ name: "ask", arguments: {} }))).toBe('{"name":"Ada"}');
  expect(textOf(await client.callTool({ name: "ask_related", arguments: {} }))).toBe(
    '{"name":"Ada"}',
  );
  await transport.terminateSession();
  await expect(client.callTool({ name: "list", arguments: {} })).rejects.toThrow("Mcp-Session-Id");
  await client.close();
});

test("the official client resumes a call whose stream the server closed", async () => {
  const { handler } = createReplicas({ timeouts: { retryMs: 10 } }).start();
  await using server = await listen(toNodeHandler(handler));
  const { client } = await connect(server.url);
  const said = await client.callTool({ name: "report", arguments: { steps: 3 } });
  expect(textOf(said)).toBe("3 steps");
  await client.close();
});

/** A handler, and the status of each of its clients' attempts to come back. */
function startResuming() {
  const { handler } = createReplicas({ timeouts: { retryMs: 10 } }).start();
  const gets: number[] = [];
  const listener = toNodeHandler(async (request) => {
    const response = await handler(request);
    if (request.headers.has("last-event-id")) gets.push(response.status);
    return response;
  });
  return { listener, gets };
}

test("an error as an answer ends the official client's stream for good", async () => {
  const { listener, gets } = startResuming();
  await using server = await listen(listener);
  const { client } = await connect(server.url);
  await expect(client.getPrompt({ name: "none" })).rejects.toThrow("Method not found");
  await expect.poll(() => gets).toEqual([204]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(gets).toEqual([204]);
  await client.close();
});

// The client takes only a result for the end of a stream, and came back each second, for ever.
test("a call that the official client gave up is not asked for again and again", async () => {
  const { listener, gets } = startResuming();
  await using server = await listen(listener);
  const { client } = await connect(server.url);
  const call = client.callTool({ name: "hang", arguments: {} }, undefined, { timeout: 50 });
  await expect(call).rejects.toThrow("timed out");
  await expect.poll(() => gets.at(-1)).toBe(204);
  const { length } = gets;
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(gets).toHaveLength(length);
  await client.close();
});

test("refuses a parsed body that is too deep", async () => {
  const { handler } = createReplicas().start();
  const serve = toNodeHandler(handler);
  await using server = await listen((request, response) => {
    request.resume().on("end", () => {
      const body: unknown = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);
      serve(Object.assign(request, { body }), response);
    });
  });
  const headers = { "content-type": "application/json" };
  const response = await fetch(server.url, { method: "POST", headers, body: "[]" });
  expect(response.status).toBe(400);
});
