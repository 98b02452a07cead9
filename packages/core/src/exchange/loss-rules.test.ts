import { describe, expect, test } from "vitest";
import { sendJson, sendText, startMcpServer } from "../../test/mcp-server.ts";
import { createRpcClient } from "../../test/rpc-client.ts";
import { saveSession, startLostStep, startStep } from "../../test/step.ts";
import type { RefusedAnswer } from "../session/lost-session.ts";

/** A step whose server refuses the saved session in a way of its own. */
const gone = async (options: Parameters<typeof startStep>[1]) => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  server.use(({ headers, message }, response, next) =>
    headers["mcp-session-id"] === snapshot.sessionId
      ? sendJson(response, 503, { reason: `worker of ${snapshot.sessionId} is asleep` })
      : message === undefined
        ? undefined
        : next(),
  );
  return { server, ...startStep(server, { snapshot, ...options }) };
};

/** A balancer whose first hits go to a replica that knows nothing. */
const startBalanced = async (wrongHits: number, refusal: [number, string]) => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  let hits = 0;
  server.use(({ headers }, response, next) => {
    const isOld = headers["mcp-session-id"] === snapshot.sessionId;
    if (!isOld || ++hits > wrongHits) return next();
    return sendText(response, ...refusal);
  });
  return {
    server,
    snapshot,
    ...startStep(server, { snapshot, recovery: { onLoss: "retry" } }),
  };
};
describe("an application's own classifyLoss", () => {
  test("recovers from what the built-in rule leaves alone, and sees no session id", async () => {
    const seen: RefusedAnswer[] = [];
    const { client, server } = await gone({
      recovery: {
        classifyLoss(answer) {
          seen.push(answer);
          return answer.status === 503 && answer.body.includes("asleep") ? "definite" : undefined;
        },
      },
    });
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(server.sessionIds).toHaveLength(2);
    expect(seen.map(({ body }) => body)).toEqual([
      JSON.stringify({ reason: "worker of [session id] is asleep" }),
    ]);
    expect(seen[0]?.headers.get("content-type")).toBe("application/json");
  });

  test("that says nothing leaves it to the built-in rule", async () => {
    const { client, server } = await gone({ recovery: { classifyLoss: () => undefined } });
    await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(server.sessionIds).toHaveLength(2);
  });

  test("that throws fails the request with what is wrong, and keeps the session", async () => {
    const { client, slot } = await startLostStep({
      recovery: {
        classifyLoss() {
          throw new TypeError("no such field");
        },
      },
    });
    await expect(client.request("tools/call")).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
      data: { field: "classifyLoss" },
      cause: { message: "no such field" },
    });
    expect(slot.changed).toBe(false);
  });

  test("can keep a session that the built-in rule gives up", async () => {
    const { client, server, slot } = await startLostStep({
      recovery: { classifyLoss: () => "none" },
    });
    expect((await client.request("tools/call")).status).toBe(404);
    expect(server.sessionIds).toHaveLength(1);
    expect(slot.changed).toBe(false);
  });
});

describe('onLoss: "retry"', () => {
  const definite: [number, string] = [404, "Session not found"];
  const probable: [number, string] = [400, "unknown session"];

  test("keeps a session that another replica knows", async () => {
    const { client, server, slot, events } = await startBalanced(1, definite);
    expect(await client.request("tools/call", { arguments: 1 })).toHaveProperty("result");
    expect(server.log).toEqual(["POST tools/call", "POST tools/call"]);
    expect(slot.changed).toBe(false);
    expect(events.map(({ type }) => type)).toEqual(["resumed"]);
    const ids = server.requests.map(({ message }) => message.id);
    expect(new Set(ids).size).toBe(2);
  });

  test("gives the session up after the second refusal, and sends the call once more", async () => {
    const { client, server } = await startBalanced(2, definite);
    expect(await client.request("tools/call")).toHaveProperty("result");
    // A replica may have the session still, so it is ended.
    await expect.poll(() => server.log).toContain("DELETE");
    expect(server.log.filter((line) => line !== "DELETE")).toEqual([
      "POST tools/call",
      "POST tools/call",
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/call",
    ]);
  });

  test("does not repeat a call that may have been carried out, but asks with a ping", async () => {
    const { client, server, slot } = await startBalanced(1, probable);
    await expect(client.request("tools/call")).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      message: expect.stringContaining("still knows"),
    });
    expect(server.log).toEqual(["POST tools/call", "POST ping"]);
    expect(slot.changed).toBe(false);
    expect(await client.request("tools/call")).toHaveProperty("result");
  });

  test("gives the session up when the ping is refused as well", async () => {
    const { client, server } = await startBalanced(9, probable);
    await expect(client.request("tools/call")).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      message: expect.stringContaining("suggests that it lost the session and its contents"),
    });
    expect(server.sessionIds).toHaveLength(2);
  });

  test("keeps the session when the caller leaves while the ping is under way", async () => {
    const { client, server, slot, events } = await startBalanced(1, probable);
    const controller = new AbortController();
    server.use(({ message }, response, next) => {
      if (message?.method === "ping") controller.abort(new Error("left"));
      else if (message?.method === "tools/call") sendText(response, ...probable);
      else next();
    });
    const { signal } = controller;
    await expect(client.request("tools/call", {}, { signal })).rejects.toThrow("left");
    expect(slot).toMatchObject({ changed: false, snapshot: { kind: "session" } });
    expect(events.map(({ type }) => type)).toEqual(["resumed"]);
  });

  test("does not take an outage for a loss when it asks with a ping", async () => {
    const { client, server, slot } = await startBalanced(1, probable);
    let asked = 0;
    server.use(({ message }, response) => {
      asked += 1;
      return message?.method === "ping"
        ? sendText(response, 503, "busy")
        : sendText(response, 400, "unknown session");
    });
    await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(asked).toBe(2);
    expect(slot.changed).toBe(false);
  });

  test("keeps the session when a notification hits the wrong replica", async () => {
    const { client, server, slot } = await startBalanced(1, definite);
    await client.post({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
    expect(slot.changed).toBe(false);
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(server.sessionIds).toHaveLength(1);
  });
});

describe("what a loss leaves for later steps", () => {
  test("is a notice on the session in its place, until somebody takes it", async () => {
    const { client, slot, server } = await startLostStep();
    await client.request("tools/call");
    expect(slot.snapshot).toMatchObject({ kind: "session", replacesLost: true });
    const later = startStep(server, { snapshot: slot.snapshot! });
    expect(later.slot.takeLossNotice()).toBe(true);
    expect(later.slot.changed).toBe(true);
    expect(later.slot.snapshot).not.toHaveProperty("replacesLost");
    expect(later.slot.takeLossNotice()).toBe(false);
  });

  test("is remembered when no session could take its place", async () => {
    const { client, server, slot } = await startLostStep();
    server.use((request, response, next) =>
      request.message?.method === "initialize" ? sendText(response, 503, "starting") : next(),
    );
    await client.request("tools/call");
    expect(slot.snapshot).toEqual({ version: 1, kind: "sessionless", url: server.url, lost: {} });
    server.use((_request, _response, next) => next());
    const later = startStep(server, { snapshot: slot.snapshot! });
    await createRpcClient(later.fetch, server.url).handshake();
    expect(later.events).toEqual([
      { type: "recovered", protocolVersion: "2025-11-25", changed: false },
    ]);
    expect(later.slot.takeLossNotice()).toBe(true);
  });
});
