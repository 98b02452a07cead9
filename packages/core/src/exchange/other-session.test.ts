import { expect, test } from "vitest";
import { type McpHandler, sendJson, sendResult, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import type { SessionFetchOptions } from "../session/session-fetch-options.ts";

const call = async (step: ReturnType<typeof startStep>) => {
  const { result } = await step.client.request("tools/call");
  return result?.count as unknown;
};

/**
 * A server that carries out a request on a session that it does not know in a new one, which it names. Each
 * session counts its calls.
 */
async function startAdoptingStep(
  options: Partial<SessionFetchOptions> & { handler?: McpHandler } = {},
) {
  const { handler, ...others } = options;
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const calls = new Map<string, number>();
  const ended: string[] = [];
  const adopt: McpHandler = ({ method, headers, message }, response, next) => {
    const sent = String(headers["mcp-session-id"]);
    if (message?.method === "initialize") return next();
    if (method === "DELETE") {
      ended.push(sent);
      return void response.writeHead(200).end();
    }
    const isKnown = calls.has(sent) || server.sessionIds.slice(1).includes(sent);
    const id = isKnown ? sent : `adopted-${calls.size + 1}`;
    const count = (calls.get(id) ?? 0) + (message?.method === "tools/call" ? 1 : 0);
    calls.set(id, count);
    const named: Record<string, string> = isKnown ? {} : { "mcp-session-id": id };
    if (message?.id === undefined) return void response.writeHead(202, named).end();
    const result = message.method === "tools/list" ? { tools: [] } : { content: [], count };
    sendResult(response, message.id, result, named);
  };
  server.use((request, response, next) =>
    handler
      ? handler(request, response, () => void adopt(request, response, next))
      : adopt(request, response, next),
  );
  return { server, snapshot, ended, calls, ...startStep(server, { snapshot, ...others }) };
}

test("goes on in the session that an answer names, when the server keeps it", async () => {
  const started: string[] = [];
  const saved: unknown[] = [];
  const step = await startAdoptingStep({
    onStart: ({ reason }) => void started.push(reason),
    onSession: (snapshot) => void saved.push(snapshot),
  });
  expect([await call(step), await call(step)]).toEqual([1, 2]);
  const posts = step.server.log.filter((line) => line !== "DELETE");
  expect(posts).toEqual(["POST tools/call", "POST ping", "POST tools/call"]);
  const adopted = { kind: "session", sessionId: "adopted-1", replacesLost: true };
  expect(step.slot.snapshot).toMatchObject(adopted);
  expect(saved).toEqual([expect.objectContaining(adopted)]);
  expect(started).toEqual(["recovered"]);
  expect(step.events).toEqual([
    { type: "resumed", protocolVersion: "2025-11-25" },
    { type: "lost", method: "tools/call", status: 200 },
    { type: "recovered", protocolVersion: "2025-11-25", changed: false },
  ]);
  expect(step.slot.takeLossNotice()).toBe(true);

  const later = startStep(step.server, { snapshot: step.slot.snapshot! });
  expect(await call(later)).toBe(3);
  expect(later.events.map(({ type }) => type)).toEqual(["resumed"]);
});

test("asks before the next request goes on, and only once for calls at the same time", async () => {
  const step = await startAdoptingStep();
  const first = await Promise.all([call(step), call(step), call(step)]);
  expect(first).toEqual([1, 1, 1]);
  await step.slot.settle();
  expect(await call(step)).toBe(2);
  // Each call has made a session of its own. One goes on, and the others are ended.
  const { sessionId } = step.slot.snapshot as { sessionId: string };
  const others = [...step.calls.keys()].filter((id) => id !== sessionId);
  await expect
    .poll(() => step.ended.toSorted())
    .toEqual([...others, step.snapshot.sessionId].toSorted());
  expect(step.events.filter(({ type }) => type === "lost")).toHaveLength(1);
});

test("initializes once on a server that names another session each time, and goes on in it", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  let names = 0;
  server.use(({ method, message }, response, next) => {
    if (method === "DELETE" || message?.method === "initialize") return next();
    const named = { "mcp-session-id": `name-${++names}` };
    if (message?.id === undefined) return void response.writeHead(202, named).end();
    return sendResult(response, message.id, { content: [] }, named);
  });
  const step = startStep(server, { snapshot });
  for (let n = 0; n < 5; n += 1) await step.client.request("tools/call");
  const posts = () => server.log.filter((line) => line !== "DELETE");
  expect(posts()).toEqual([
    ...["POST tools/call", "POST ping", "POST initialize", "POST notifications/initialized"],
    ...Array.from({ length: 4 }, () => "POST tools/call"),
  ]);
  expect(step.slot.snapshot).toMatchObject({ sessionId: "secret-session-2", namesVary: true });

  server.requests.length = 0;
  const later = startStep(server, { snapshot: step.slot.snapshot! });
  await later.client.request("tools/call");
  await later.client.request("tools/call");
  // Nobody could see a loss there, and that is said.
  expect(later.events.map(({ type }) => type)).toEqual(["resumed", "ids-vary"]);
  expect(posts()).toEqual(["POST tools/call", "POST tools/call"]);
});

test("initializes when the server does not know the session that it has named", async () => {
  const step = await startAdoptingStep({
    handler: ({ message }, response, next) =>
      message?.method === "ping" ? sendJson(response, 500, {}) : next(),
  });
  expect([await call(step), await call(step)]).toEqual([1, 1]);
  expect(step.slot.snapshot).toMatchObject({ sessionId: "secret-session-2" });
  // The one that carried the call out, and the one that it was sent on.
  await expect.poll(() => step.ended.toSorted()).toEqual(["adopted-1", "secret-session-1"]);
});

test("reports the loss that is to be reported, and ends the session that carried the call out", async () => {
  const step = await startAdoptingStep({ recovery: { onLoss: "report" } });
  expect(await call(step)).toBe(1);
  await expect(step.client.request("tools/call")).rejects.toMatchObject({ code: "SESSION_LOST" });
  await expect.poll(() => step.ended).toEqual(["adopted-1"]);
  expect(step.slot.snapshot).toMatchObject({ kind: "sessionless", lost: {} });
});

test.each([
  ["that no header can carry", { "mcp-session-id": "a b" }, "application/json"],
  ["of a page that is no answer", { "mcp-session-id": "page" }, "text/html"],
])("ignores a name %s", async (_, named, type) => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  server.use(({ message }, response) => {
    response.writeHead(200, { ...named, "content-type": type });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: {} }));
  });
  const { client, slot } = startStep(server, { snapshot });
  await client.request("tools/call");
  await slot.settle();
  expect(slot.snapshot).toEqual(snapshot);
  expect(server.log).toEqual(["POST tools/call"]);
});

test("says neither id when the session that carried a call out reports an error", async () => {
  const step = await startAdoptingStep({
    handler: ({ message }, response, next) => {
      if (message?.method !== "tools/call") return next();
      const error = { code: -32603, message: "failed in adopted-secret" };
      const body = { jsonrpc: "2.0", id: message.id, error };
      sendJson(response, 200, body, { "mcp-session-id": "adopted-secret" });
    },
  });
  const answer = await step.client.request("tools/call");
  expect(answer).toMatchObject({ error: { message: "failed in [session id]" } });
  expect(JSON.stringify(step.events)).not.toContain("adopted");
});

test("does not try a named session again that could not be saved", async () => {
  let saves = 0;
  const step = await startAdoptingStep({
    onSession: () => {
      saves += 1;
      if (saves === 1) throw new Error("The store is down.");
    },
  });
  expect(await call(step)).toBe(1);
  await expect.poll(() => step.ended).toEqual(["adopted-1"]);
  expect(await call(step)).toBe(1);
  expect(step.slot.snapshot).toMatchObject({ sessionId: "secret-session-2" });
});
