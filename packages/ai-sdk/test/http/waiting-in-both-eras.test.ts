import { createMemoryStore } from "@durable-mcp/core";
import { createFaultyServer } from "@durable-mcp/testing";
import {
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  McpServer,
} from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { startHttpServer } from "../../../core/test/http-server.ts";
import { collectEvents } from "../collect-events.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";

const form = { sure: { type: "boolean" } };
const accept = { sure: { action: "accept" as const, content: { sure: true } } };

async function startFaulty(sessions: boolean) {
  const server = await createFaultyServer({ sessions, tools: { pay: () => "paid" } });
  onTestFinished(() => server.close());
  server.ask("pay", [{ sure: { message: "Sure?", form } }]);
  return { url: server.url, methods: () => server.requests.map(({ rpcMethod }) => rpcMethod) };
}

/** SDK v2's handler of both eras. It names no session. */
async function startHandler() {
  const schema = { type: "object", properties: form, required: ["sure"] } as never;
  const handler = createMcpHandler(() => {
    const mcp = new McpServer({ name: "shop", version: "1.0.0" }, { capabilities: { tools: {} } });
    const inputSchema = fromJsonSchema({ type: "object" });
    mcp.registerTool("pay", { inputSchema }, (_, { mcpReq }) => {
      const view = inputResponse(mcpReq.inputResponses, "sure");
      if (view.kind === "elicit") return { content: [{ type: "text", text: "paid" }] };
      const sure = inputRequired.elicit({ message: "Sure?", requestedSchema: schema });
      return inputRequired({ inputRequests: { sure }, requestState: "asked" });
    });
    return mcp;
  });
  const { requests, origin } = await startHttpServer(async (request, response) => {
    const headers = new Headers(Object.entries(request.headers) as [string, string][]);
    const { method, message } = request;
    const body = method === "POST" ? JSON.stringify(message) : null;
    const own = new Request(`http://127.0.0.1/mcp`, { method, headers, body });
    const answer = await handler.fetch(own, method === "POST" ? { parsedBody: message } : {});
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  return { url: `${origin}/mcp`, methods: () => requests.map(({ message }) => message?.method) };
}

function openSessions(url: string, own: Partial<McpClientConnectionOptions> = {}) {
  const { onEvent, events } = collectEvents();
  const shop = defineMcpClientConnection({
    ...{ url, description: "A shop.", session: "stateful", waiting: true, ...own },
  });
  const connections = { shop };
  const sessions = createDurableSessions({ connections, store: createMemoryStore(), onEvent });
  const use = { principal: alice };
  const pay = () => sessions.run("chat", use, (run) => run.call("shop", "pay"));
  return { sessions, events, pay, waiting: () => sessions.waiting("chat", use) };
}

describe.each([
  ["SDK v2's handler", startHandler],
  ["a faulty server without sessions", () => startFaulty(false)],
])("a server of both eras that names no session (%s)", (_, start) => {
  test("asks in the era without them, where the question waits, and is carried out once", async () => {
    const { url, methods } = await start();
    const { sessions, events, pay, waiting } = openSessions(url);
    await pay();
    const [call, ...others] = await waiting();
    expect([call, others]).toMatchObject([{ type: "question", state: "waiting" }, []]);
    const answered = await sessions.answer("chat", call!.id!, accept, { principal: alice });
    expect(answered).toMatchObject({ state: "settled" });
    expect(events.map(({ type }) => type)).toContain("stateless");
    expect(methods().slice(0, 3)).toEqual(["initialize", "server/discover", "tools/call"]);
    // The next step knows it.
    const before = methods().length;
    await pay();
    expect(methods().slice(before)).not.toContain("initialize");
  });
});

test("a server of both eras that names a session keeps it, and is not probed", async () => {
  const { url, methods } = await startFaulty(true);
  const { pay, events } = openSessions(url, { timeouts: { callMs: 1_000 } });
  await pay().catch(() => undefined);
  expect(methods()).not.toContain("server/discover");
  expect(events).toContainEqual(expect.objectContaining({ type: "cannot-wait", tool: "pay" }));
});

test("a server of the session era that names none is asked once, and its handshake is kept", async () => {
  const server = await startNotebookServer({ isSessionless: true });
  const { sessions } = openSessions(server.url);
  const use = { principal: alice };
  const add = () => sessions.run("chat", use, (run) => run.call("shop", "add_note", { text: "a" }));
  await add();
  expect(server.log.filter((line) => line === "POST server/discover")).toHaveLength(1);
  server.requests.length = 0;
  await add();
  expect(server.log).toEqual(["POST tools/call"]);
});

test("without waiting nothing changes: no probe", async () => {
  const { url, methods } = await startHandler();
  const { pay } = openSessions(url, { waiting: undefined });
  await pay().catch(() => undefined);
  expect(methods()).not.toContain("server/discover");
});
