import { describe, expect, test } from "vitest";
import {
  eventText,
  initializeResult,
  type McpHandler,
  sendJson,
  sendResult,
  sendText,
  startEvents,
  startMcpServer,
  toolDefinition,
} from "../../test/mcp-server.ts";
import { startStep } from "../../test/step.ts";

const handshake = ["POST initialize", "POST notifications/initialized"];
const list = "POST tools/list";
const call = "POST tools/call";
const hour = 3_600_000;
/** The time of the first steps. */
const then = 1_000_000;

/** Answers like a server that names no session. */
const withoutSessions: McpHandler = ({ message }, response) => {
  if (message?.id === undefined) return sendText(response, 202, "");
  const results: Record<string, object> = {
    initialize: initializeResult,
    "tools/list": { tools: [toolDefinition("echo")] },
  };
  sendResult(response, message.id, results[message.method] ?? { content: [] });
};

/** What a first step saved on a server without sessions, whose log starts after it. */
async function startKept(options: Parameters<typeof startStep>[1] = {}) {
  const server = await startMcpServer(withoutSessions);
  const first = startStep(server, { now: () => then, ...options });
  await first.client.handshake();
  await first.client.request("tools/list");
  server.requests.length = 0;
  return { server, snapshot: first.slot.snapshot! };
}

/** A cold step of a client that makes its handshake, lists the tools and calls one. */
async function listAndCall({ client }: ReturnType<typeof startStep>) {
  await client.handshake();
  await client.request("tools/list");
  return await client.request("tools/call", { name: "echo" });
}

test("a later step sends the call alone, with the negotiated version and no id", async () => {
  const { server, snapshot } = await startKept();
  const step = startStep(server, { snapshot, now: () => then + hour });
  expect(await listAndCall(step)).toHaveProperty("result");
  expect(server.log).toEqual([call]);
  const { headers } = server.requests[0]!;
  expect(headers).toMatchObject({ "mcp-protocol-version": "2025-11-25" });
  expect(headers).not.toHaveProperty("mcp-session-id");
  expect(step.events).toEqual([{ type: "sessionless", protocolVersion: "2025-11-25" }]);
  expect(step.slot.changed).toBe(false);
});

test.each<[string, number, Parameters<typeof startStep>[1]?]>([
  ["is older than a tool list may be", then + hour + 1],
  ["is older than the application wants", then + 2, { toolList: { maxAgeMs: 1 } }],
  ["is of the future", then - 1],
])("a handshake that %s is made again", async (_, keptAt, options) => {
  const { server, snapshot } = await startKept();
  const step = startStep(server, { snapshot, now: () => keptAt, ...options });
  await listAndCall(step);
  expect(server.log).toEqual([...handshake, list, call]);
  expect(step.slot.snapshot).toMatchObject({ keptAt, toolList: { listedAt: keptAt } });
});

test("a client that cannot speak the kept version makes its own handshake", async () => {
  const { server, snapshot } = await startKept();
  const { client, events } = startStep(server, { snapshot, now: () => then + 1 });
  const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: {} };
  await client.request("initialize", params);
  expect(server.log).toEqual(["POST initialize"]);
  expect(events[0]).toEqual({ type: "discarded", reason: "protocol-version" });
});

const rpcError = (message: string, code = -32000) => ({
  jsonrpc: "2.0",
  id: null,
  error: { code, message },
});
const refusals: [string, number, unknown][] = [
  ["a server that was restarted", 400, rpcError("Bad Request: Server not initialized")],
  ["another version", 400, rpcError("Bad Request: Unsupported protocol version: 2025-11-25")],
  [
    "a server that has sessions now",
    400,
    rpcError("Bad Request: Mcp-Session-Id header is required"),
  ],
  ["a server that has them, in other words", 400, rpcError("Bad Request: Missing session ID")],
  ["a server that refuses with 200", 200, rpcError("Server not initialized", -32002)],
];

/** Refuses everything until the handshake is made. */
async function startRefusing(status: number, body: unknown, isEvents = false) {
  const { server, snapshot } = await startKept();
  let isInitialized = false;
  server.use((request, response, next) => {
    isInitialized ||= request.message?.method === "notifications/initialized";
    const isRefused = !isInitialized && request.message?.method !== "initialize";
    if (!isRefused) return withoutSessions(request, response, next);
    const answer = { ...(body as object), id: request.message.id };
    if (!isEvents) return sendJson(response, status, answer);
    startEvents(response);
    response.end(eventText(answer));
  });
  return { server, snapshot };
}

describe("a refusal of the kept handshake", () => {
  test.each(refusals)(
    "by %s: the handshake is made once, and the call sent again",
    async (_, ...refusal) => {
      const { server, snapshot } = await startRefusing(...refusal);
      const step = startStep(server, { snapshot, now: () => then + 1 });
      expect(await listAndCall(step)).toHaveProperty("result");
      expect(server.log).toEqual([call, ...handshake, call]);
      expect(step.events).toEqual([
        { type: "sessionless", protocolVersion: "2025-11-25" },
        { type: "discarded", reason: "refused" },
        { type: "sessionless", protocolVersion: "2025-11-25" },
      ]);
      expect(step.slot.snapshot).toMatchObject({ keptAt: then + 1 });
      expect(step.slot.snapshot).not.toHaveProperty("toolList");
      expect(step.slot.takeLossNotice()).toBe(false);
    },
  );

  test("by several calls at once is answered with one handshake", async () => {
    const { server, snapshot } = await startRefusing(400, rpcError("Server not initialized"));
    const { client } = startStep(server, { snapshot, now: () => then + 1 });
    const calls = [0, 1, 2].map((id) => client.request("tools/call", {}, { id }));
    for (const answer of await Promise.all(calls)) expect(answer).toHaveProperty("result");
    expect(server.log.filter((entry) => entry === "POST initialize")).toHaveLength(1);
    expect(server.log.filter((entry) => entry === call)).toHaveLength(6);
  });

  test("in an answer stream reaches the client, and the next call makes the handshake", async () => {
    const { server, snapshot } = await startRefusing(200, rpcError("Server not initialized"), true);
    const { client, events } = startStep(server, { snapshot, now: () => then + 1 });
    expect(await client.request("tools/call")).toMatchObject({ error: { code: -32000 } });
    expect(events).toContainEqual({ type: "discarded", reason: "refused" });
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(server.log).toEqual([call, ...handshake, call]);
  });

  test("with resend: never is the client's, and the next call makes the handshake", async () => {
    const { server, snapshot } = await startRefusing(400, rpcError("Server not initialized"));
    const { client } = startStep(server, {
      snapshot,
      now: () => then + 1,
      recovery: { resend: "never" },
    });
    expect(await client.request("tools/call")).toMatchObject({ error: { code: -32000 } });
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(server.log).toEqual([call, ...handshake, call]);
  });
});

test("a server that refuses the new handshake as well is asked once", async () => {
  const { server, snapshot } = await startKept();
  server.use((request, response, next) =>
    request.message?.method === "tools/call"
      ? sendJson(response, 400, rpcError("Server not initialized"))
      : withoutSessions(request, response, next),
  );
  const { client, slot } = startStep(server, { snapshot, now: () => then + 1 });
  expect(await client.request("tools/call")).toMatchObject({ status: 400 });
  expect(server.log).toEqual([call, ...handshake, call]);
  // The next step does not begin with it.
  expect(slot.snapshot).toEqual({ version: 1, kind: "sessionless", url: server.url });
});

test.each([
  [404, "gone"],
  [400, "the city is not in the list"],
  [401, "initialize first"],
  [503, "not initialized yet"],
  [200, rpcError("Unknown tool: initialize")],
])("%i %j says nothing about the handshake", async (status, body) => {
  const { server, snapshot } = await startKept();
  server.use(({ message }, response) =>
    typeof body === "string"
      ? sendText(response, status, body)
      : sendJson(response, status, { ...body, id: message.id }),
  );
  const { client, slot } = startStep(server, { snapshot, now: () => then + 1 });
  await client.request("tools/call").catch(() => undefined);
  expect(server.log).toEqual([call]);
  expect(slot.changed).toBe(false);
});

test("an answer that is empty, and says that it is JSON, reaches the client", async () => {
  const { server, snapshot } = await startKept();
  server.use((_request, response) => {
    response.writeHead(204, { "content-type": "application/json" }).end();
  });
  const { client } = startStep(server, { snapshot, now: () => then + 1 });
  const error = await client.request("tools/call").catch((reason: unknown) => reason);
  expect(error).toMatchObject({ error: { data: { code: "OUTCOME_UNKNOWN" } } });
  expect(server.log).toEqual([call]);
});

test("a server that names a session by now gets one", async () => {
  const { server, snapshot } = await startKept();
  server.use((_request, _response, next) => next());
  const { client, slot } = startStep(server, { snapshot, now: () => then + 1 });
  expect(await client.request("tools/call")).toHaveProperty("result");
  expect(server.log).toEqual([call, ...handshake, call]);
  expect(slot.snapshot).toMatchObject({ kind: "session" });
});
