import { expect, test } from "vitest";
import { InitializeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import {
  createRawClient,
  initializeRequest,
  readMessages,
  toolCall,
} from "../../test/raw-client.ts";
import { createReplicas, startSession } from "../../test/replicas.ts";

const hang = (id: number) => toolCall(id, "hang");
const types = (events: readonly { type: string }[]) => events.map(({ type }) => type);

test("a body that is too large gets 413, also without a length", async () => {
  const { client, handler, id } = await startSession({ limits: { bodyBytes: 500 } });
  expect(await client.call(id, "add", { text: "x".repeat(600) })).toMatchObject({ status: 413 });
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(new Uint8Array(100));
    },
  });
  const request = new Request("http://localhost/mcp", {
    method: "POST",
    headers: { accept: "application/json, text/event-stream", "content-type": "application/json" },
    body,
    duplex: "half",
  } as RequestInit);
  expect((await handler(request)).status).toBe(413);
});

test.each(["sse", "json"] as const)(
  "a state that grows too large is an error of the call, is not stored, and leaves no call in flight (%s)",
  async (responseFormat) => {
    const { client, id } = await startSession({ responseFormat, limits: { stateBytes: 100 } });
    const answer = await client.call(id, "add", { text: "x".repeat(200) }, 5);
    expect(answer.error?.data?.code).toBe("STATE_INVALID");
    expect(await client.call(id, "list", {}, 5)).toMatchObject({ status: 200, text: "" });
  },
);

test("more streams at once than allowed get 429, until one ends", async () => {
  const { client, id } = await startSession({ limits: { streamsPerSession: 1 } });
  const first = await client.get(id);
  expect(first.status).toBe(200);
  const second = await client.get(id);
  expect([second.status, second.headers.get("retry-after")]).toEqual([429, "5"]);
  await first.body?.cancel();
  await expect.poll(async () => (await client.get(id)).status).toBe(200);
});

test("the least recently used server is closed, and its session is restored", async () => {
  const replicas = createReplicas({ limits: { liveSessions: 2 } });
  const { client, handler } = replicas.start();
  const ids = [await client.initialize(), await client.initialize()];
  await client.call(ids[0], "add", { text: "a" });
  ids.push(await client.initialize());
  expect(handler.liveSessions).toBe(2);
  expect(types(replicas.events)).toEqual(["started", "started", "closed", "started"]);
  expect(await client.call(ids[0], "list")).toMatchObject({ text: "a" });
  expect(await client.call(ids[1], "list")).toMatchObject({ text: "" });
  expect(types(replicas.events).slice(4)).toEqual(["closed", "restored"]);
});

test("when no session is idle a further one gets 503", async () => {
  const { client, id, ...replicas } = await startSession({ limits: { liveSessions: 1 } });
  await client.post(id, hang(1));
  await expect(client.initialize()).rejects.toThrow("503");
  expect(types(replicas.events)).not.toContain("closed");
});

test("a request id that is in flight is refused, not crossed", async () => {
  const { client, id } = await startSession({}, {}, "2025-03-26");
  await client.post(id, hang(1));
  expect(await client.call(id, "list", {}, 1)).toMatchObject({ status: 409 });
  // The number and the text are two ids.
  expect(await client.call(id, "list", {}, "1")).toMatchObject({ status: 200 });
  // In a batch the other requests do not run either.
  const batch = [toolCall(9, "add", { text: "a" }), hang(1)];
  expect((await client.post(id, batch)).status).toBe(409);
  expect(await client.call(id, "list", {}, 9)).toMatchObject({ text: "" });
});

test("the data that a session keeps of its client are bounded", async () => {
  const { client } = createReplicas().start();
  await expect(
    client.initialize({ experimental: { x: { y: "x".repeat(70_000) } } }),
  ).rejects.toThrow("413");
  const id = await client.initialize();
  expect(await client.call(id, "list", {}, "x".repeat(257))).toMatchObject({ status: 400 });
  const subscribe = async (uri: string) => {
    const params = { uri };
    const response = await client.post(id, {
      id: uri.slice(0, 9),
      method: "resources/subscribe",
      params,
    });
    return (await readMessages(response)).at(-1)?.message.error?.data?.code;
  };
  expect(await subscribe(`a://${"x".repeat(60_000)}`)).toBeUndefined();
  expect(await subscribe(`b://${"x".repeat(60_000)}`)).toBe("STATE_INVALID");
});

test("a server that refuses initialize says so, and leaves no session", async () => {
  const replicas = createReplicas();
  const { client } = replicas.start({
    setUp: (mcp) =>
      mcp.server.setRequestHandler(InitializeRequestSchema, () => {
        throw new Error("not you");
      }),
  });
  const response = await client.post(undefined, initializeRequest);
  const [answer] = await readMessages(response);
  expect(answer?.message.error?.message).toContain("not you");
  expect((await replicas.store.list({ limit: 10 })).records).toEqual([]);
});

test.each([
  ["no JSON", "{", {}, 400],
  ["no JSON-RPC", { id: 1 }, {}, 400],
  ["another media type", { jsonrpc: "2.0" }, { "content-type": "text/plain" }, 415],
  ["an Accept that leaves out SSE", { jsonrpc: "2.0" }, { accept: "application/json" }, 406],
])("%s is refused and leaves nothing behind", async (_, body, headers, status) => {
  const { client, id, ...replicas } = await startSession();
  const before = (await replicas.store.list({ limit: 100 })).records.length;
  const response = await client.send("POST", { "mcp-session-id": id, ...headers }, body);
  expect(response.status).toBe(status);
  expect((await replicas.store.list({ limit: 100 })).records).toHaveLength(before);
});

test("requests without a session, or of another revision, get clear answers", async () => {
  const { client } = createReplicas().start();
  expect((await client.post(undefined, { id: 1, method: "tools/list" })).status).toBe(400);
  expect((await client.get(undefined)).status).toBe(400);
  expect((await client.end(undefined)).status).toBe(400);
  const id = await client.initialize();
  expect((await client.get(id, undefined, { "mcp-protocol-version": "1999-01-01" })).status).toBe(
    400,
  );
});

async function statusOf(host: string, origin: string): Promise<number> {
  const { handler } = createReplicas({ allowedHosts: ["mcp.example"] }).start();
  const client = createRawClient(handler, { host, origin });
  return (await client.post(undefined, initializeRequest)).status;
}

test("hosts and origins are checked before a session is made", async () => {
  expect(await statusOf("mcp.example", "https://mcp.example")).toBe(200);
  expect(await statusOf("mcp.example", "https://app.example")).toBe(403);
  expect(await statusOf("evil.example", "https://mcp.example")).toBe(403);
});

test("of two requests with one id that come at once only one runs", async () => {
  const { client, id } = await startSession({}, {}, "2025-03-26");
  const answers = await Promise.all([
    client.post(id, [hang(1), hang(2)]),
    client.post(id, hang(1)),
  ]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  expect((await client.post(id, [hang(3), hang(3)])).status).toBe(409);
  expect((await client.post(id, hang(3))).status).toBe(200);
});

test("a malformed initialize within a session does not end it", async () => {
  const { client, id } = await startSession();
  await readMessages(await client.post(id, { id: 9, method: "initialize", params: {} }));
  expect(await client.call(id, "list")).toMatchObject({ status: 200 });
});

/** A client's answer to a question that a live session in another process asked, so it says. */
const answerTo = (process: number, text = "") => ({ id: `process${process}.1`, result: { text } });

test("the messages that a client leaves for other processes are bounded, whichever it names", async () => {
  const { client, id, ...replicas } = await startSession();
  expect((await client.post(id, answerTo(0, "x".repeat(300_000)))).status).toBe(202);
  expect((await client.post(id, answerTo(0, "x".repeat(300_000)))).status).toBe(429);
  for (let process = 1; process < 16; process += 1) {
    expect((await client.post(id, answerTo(process))).status).toBe(202);
  }
  const refused = await client.post(id, answerTo(16));
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(replicas.events.filter(({ type }) => type === "refused")).toHaveLength(2);
  expect(await client.call(id, "add", { text: "a" })).toMatchObject({ status: 200 });
});
