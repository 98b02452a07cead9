import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientNames, loadClient, type McpTestClient } from "../clients/index.ts";

// Clients refuse these answers, and drop them without a word when they come in a stream: the call hangs.

type Answer = (id: string, text: string) => string;
const content = (text: string) => `"content":[{"type":"text","text":"${text}"}]`;
const withResult = (id: string, result: string) =>
  `{"jsonrpc":"2.0","id":${id},"result":${result}}`;

const usable: Answer = (id, text) => withResult(id, `{${content(text)}}`);
const relatedTask = "io.modelcontextprotocol/related-task";
const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`;
/** Clients refuse these too, and they can be made usable. */
const odd: [name: string, answer: Answer][] = [
  ["a batch", (id, text) => `[${note},${usable(id, text)}]`],
  ["__proto__", (id, text) => withResult(id, `{"_meta":{"__proto__":{"a":1}},${content(text)}}`)],
  [
    "constructor, escaped",
    (id, text) =>
      withResult(id, `{"_meta":{"\\u0063onstructor":{"prototype":1}},${content(text)}}`),
  ],
];
const unusable: [name: string, answer: Answer][] = [
  ["NaN", (id, text) => withResult(id, `{"price":NaN,${content(text)}}`)],
  ["a raw control character", (id, text) => withResult(id, `{${content(`\u0001${text}`)}}`)],
  ["another id after its own", (id, text) => usable(id, text).replace(/\}$/, ',"id":"x"}')],
  ["neither result nor error", (id, text) => `{"jsonrpc":"2.0","id":${id},"text":"${text}"}`],
  ["a result that is a list", (id, text) => withResult(id, `["${text}"]`)],
  ["a member too many", (id, text) => usable(id, text).replace(/\}$/, ',"error":null}')],
  [
    "a type of result that is none",
    (id, text) => withResult(id, `{"resultType":7,${content(text)}}`),
  ],
  [
    "a progress token that is none",
    (id, text) => withResult(id, `{"_meta":{"progressToken":{}},${content(text)}}`),
  ],
  [
    "a related task that is none",
    (id, text) => withResult(id, `{"_meta":{"${relatedTask}":"x"},${content(text)}}`),
  ],
  ["an error in words", (id, text) => `{"jsonrpc":"2.0","id":${id},"error":"${text}"}`],
];

type Form = "JSON" | "events" | "events that go on";
let form: Form = "JSON";
let answerTo: (id: string) => string;

const answers: Record<string, object> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "raw", version: "1" },
  },
  "tools/list": { tools: [{ name: "buy", inputSchema: { type: "object" } }] },
};

const server = createServer((request, response) => void answer(request, response));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  if (request.method !== "POST") return response.writeHead(405).end();
  let body = "";
  for await (const chunk of request) body += chunk;
  const { id, method } = JSON.parse(body) as { id?: unknown; method: string };
  if (id === undefined) return response.writeHead(202).end();
  const ownId = JSON.stringify(id);
  if (method === "tools/call") return sendRaw(response, answerTo(ownId));
  const result = answers[method];
  const error = { code: -32601, message: "Method not found" };
  return response
    .writeHead(200, { "content-type": "application/json", "mcp-session-id": "raw-session" })
    .end(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
}

function sendRaw(response: ServerResponse, text: string): void {
  if (form === "JSON") {
    response.writeHead(200, { "content-type": "application/json" }).end(text);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" }).write(`data: ${text}\n\n`);
  if (form === "events") response.end();
}

beforeAll(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe.each(clientNames)("%s", (name) => {
  let client: McpTestClient;
  beforeAll(async () => {
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/mcp`;
    const connect = await loadClient(name);
    client = await connect({ url, fetch: createSessionFetch({ url, slot: createSessionSlot() }) });
  });
  afterAll(() => client.close());

  describe.each<Form>(["JSON", "events", "events that go on"])("answered in %s", (form_) => {
    test.each([1, 20_000])("has its answer, %i characters long", async (length) => {
      form = form_;
      answerTo = (id) => usable(id, "a".repeat(length));
      expect((await client.callTool("buy", {})).text).toHaveLength(length);
      // An id that comes twice is one id.
      answerTo = (id) => usable(id, "a".repeat(length)).replace(/\}$/, `,"id":${id}}`);
      expect((await client.callTool("buy", {})).text).toHaveLength(length);
    });

    test.each(odd)("has its answer with %s", async (_, answered) => {
      form = form_;
      for (const length of [1, 20_000]) {
        answerTo = (id) => answered(id, "a".repeat(length));
        expect((await client.callTool("buy", {})).text).toHaveLength(length);
      }
    });

    test.each(unusable)("is told of %s, in a short answer and in a long one", async (_, broken) => {
      form = form_;
      for (const length of [1, 20_000]) {
        answerTo = (id) => broken(id, "a".repeat(length));
        await expect(client.callTool("buy", {})).rejects.toMatchObject({
          data: { code: "OUTCOME_UNKNOWN" },
          message: expect.stringContaining("the answer is no valid JSON-RPC message"),
        });
      }
    });
  });
});
