import { createMemoryStore } from "@durable-mcp/core";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { createRawClient, readMessages, takeEvents, toolCall } from "../../test/raw-client.ts";
import { createSessionHandler, type SessionHandlerOptions } from "../index.ts";

const key = (byte: number) => new Uint8Array(32).fill(byte);
const requestedSchema = {
  type: "object" as const,
  properties: { ok: { type: "boolean" as const } },
};

/** A handler whose tools ask once, and say what they kept. */
function start(options: Partial<SessionHandlerOptions> = {}) {
  const states: string[] = [];
  const handler = createSessionHandler({
    store: createMemoryStore(),
    principal: (request) => ({
      type: "user",
      issuer: "https://idp",
      id: request.headers.get("authorization") ?? "nobody",
    }),
    keys: { current: key(1) },
    stateless: createMcpHandler,
    createServer: ({ requestState }) => {
      const mcp = new McpServer({ name: "shop", version: "1" }, { requestState });
      for (const name of ["order", "cancel"]) {
        const inputSchema = z.object({ item: z.string(), count: z.number().optional() });
        mcp.registerTool(name, { inputSchema }, async ({ item }, { mcpReq }) => {
          const kept = mcpReq.requestState<{ orderId: string }>();
          if (mcpReq.inputResponses)
            return { content: [{ type: "text", text: JSON.stringify(kept) }] };
          states.push(await requestState.mint({ orderId: `order of ${item}` }));
          return inputRequired({
            inputRequests: { ok: inputRequired.elicit({ message: "Sure?", requestedSchema }) },
            requestState: states.at(-1)!,
          });
        });
      }
      return mcp;
    },
    ...options,
  });
  return { handler, states, client: createRawClient(handler) };
}

async function connectModern(handler: (request: Request) => Promise<Response>, user = "ada") {
  const client = new Client(
    { name: "modern", version: "1" },
    { versionNegotiation: { mode: "auto" }, capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler("elicitation/create", async () => ({
    action: "accept" as const,
    content: { ok: true },
  }));
  const transport = new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), {
    fetch: async (url, init) => await handler(new Request(url, init)),
    requestInit: { headers: { authorization: user } },
  });
  await client.connect(transport);
  return client;
}

test("a client of 2026-07-28 brings the state back", async () => {
  const { handler, states } = start();
  const client = await connectModern(handler);
  const result = await client.callTool({ name: "order", arguments: { item: "tea" } });
  expect(result.content).toEqual([{ type: "text", text: '{"orderId":"order of tea"}' }]);
  expect(states[0]).not.toContain("order");
});

test("a client with a session answers, and its call gets the state", async () => {
  const { client } = start();
  const id = await client.initialize({ elicitation: { form: {} } });
  const response = await client.post(id, toolCall(7, "order", { item: "tea" }));
  const [head, rest] = response.body!.tee();
  const [question] = await takeEvents(new Response(head), 1);
  expect(JSON.stringify(question)).not.toContain("requestState");
  const accepted = { result: { action: "accept", content: { ok: true } } };
  await client.post(id, { id: question!.message.id, ...accepted });
  const headers = { "content-type": "text/event-stream" };
  const last = (await readMessages(new Response(rest, { headers }))).at(-1);
  expect(last?.message.result?.content?.[0]?.text).toBe('{"orderId":"order of tea"}');
});

test("a state that is too large is refused with the fix", async () => {
  const client = await connectModern(start().handler);
  const args = { item: "x".repeat(900_000) };
  const result = await client.callTool({ name: "order", arguments: args });
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("too large: keep the value in session.state") }],
  });
});

/** Answers a call of 2026-07-28 with a state of an earlier one. */
async function answerWith(
  handler: (request: Request) => Promise<Response>,
  state: string,
  { name = "order", args, user = "ada" }: { name?: string; args?: object; user?: string } = {},
) {
  const client = await connectModern(handler, user);
  const inputResponses = { ok: { action: "accept" as const, content: { ok: true } } };
  const params = {
    name,
    arguments: args as Record<string, unknown>,
    inputResponses,
    requestState: state,
  };
  return await client.callTool(params as never).then(
    ({ content }) => (content as { text: string }[])[0]?.text,
    (error: { code: number }) => error.code,
  );
}

test("a state is good for its principal, tool and arguments alone, over restarts and a new key", async () => {
  let time = Date.now();
  const now = () => time;
  const one = start({ now });
  const asking = await connectModern(one.handler);
  const args = { item: "tea", count: 2 };
  await asking.callTool({ name: "order", arguments: args });
  const [state] = one.states;
  const { handler } = start({ now, keys: { current: key(2), previous: key(1) } });
  const kept = '{"orderId":"order of tea"}';
  expect(await answerWith(handler, state!, { args })).toBe(kept);
  expect(await answerWith(handler, state!, { args: { count: 2, item: "tea" } })).toBe(kept);
  const refused = [
    await answerWith(handler, state!, { args: { item: "tea", count: 3 } }),
    await answerWith(handler, state!, { args, name: "cancel" }),
    await answerWith(handler, state!, { args, user: "bob" }),
    await answerWith(handler, `${state!.slice(0, -4)}AAAA`, { args }),
    await answerWith(handler, "forged", { args }),
    await answerWith(start({ now, keys: { current: key(3) } }).handler, state!, { args }),
  ];
  expect(refused).toEqual(refused.map(() => -32602));
  time += 6.9 * 24 * 3_600_000;
  expect(await answerWith(handler, state!, { args })).toBe(kept);
  time += 0.2 * 24 * 3_600_000;
  expect(await answerWith(handler, state!, { args })).toBe(-32602);
});

test("without keys there is no codec, and its reader is told why", async () => {
  const failures: unknown[] = [];
  const { client } = start({
    keys: undefined,
    stateless: undefined,
    onEvent: (event) => "error" in event && failures.push(event.error),
  });
  await expect(client.initialize()).rejects.toThrow("500");
  expect(failures).toMatchObject([{ code: "CONNECTION_INVALID", data: { field: "keys" } }]);
});
