import { describe, expect, test } from "vitest";
import {
  eventText,
  type McpHandler,
  sendJson,
  sendText,
  startEvents,
  startMcpServer,
} from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";

const error = (id: unknown, code = -32_000, message = "Internal error") => ({
  ...{ jsonrpc: "2.0", id },
  error: { code, message },
});
const recovery = ["POST initialize", "POST ping", "POST notifications/initialized"];

/** A resumed step. `answer` answers the requests on its session, once the server has forgotten it. */
async function startForgotten(
  answer: McpHandler,
  options: Parameters<typeof startStep>[1] = {},
  isForgotten = true,
) {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const forget = () =>
    server.use((request, response, next) =>
      request.headers["mcp-session-id"] === snapshot.sessionId
        ? answer(request, response, next)
        : next(),
    );
  if (isForgotten) forget();
  const step = startStep(server, { snapshot, ...options });
  const typesOf = () => step.events.map(({ type }) => type);
  return { ...step, server, snapshot, forget, typesOf };
}

const refuses: McpHandler = (_, response) => sendText(response, 500, "Oh.");
const unknown = { code: "OUTCOME_UNKNOWN", data: { method: "tools/call" } };

describe("a session that refuses, and has answered nothing since it was taken up", () => {
  test("is replaced when a ping, a new session and a last ping say so", async () => {
    const { client, server, slot, typesOf } = await startForgotten(refuses);
    await expect(client.request("tools/call")).rejects.toMatchObject(unknown);
    expect(server.log.slice(0, 5)).toEqual(["POST tools/call", "POST ping", ...recovery]);
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(slot.snapshot).toMatchObject({ sessionId: server.sessionIds[1], replacesLost: true });
    expect(typesOf()).toEqual(["resumed", "lost", "recovered"]);
  });

  test("is replaced, and a list goes again", async () => {
    const { client, server } = await startForgotten(refuses);
    expect(await client.request("tools/list")).toHaveProperty("result");
    expect(server.sessionIds).toHaveLength(2);
  });

  test.each<[string, McpHandler]>([
    [
      "the call's own matter",
      ({ message }, response, next) =>
        message?.method === "tools/call" ? sendText(response, 500, "Oh.") : next(),
    ],
    [
      "a tool that refuses inside",
      ({ message }, response, next) =>
        message?.method === "tools/call" ? sendJson(response, 200, error(message?.id)) : next(),
    ],
    [
      "a server without ping",
      ({ message }, response) =>
        message?.method === "ping"
          ? sendJson(response, 200, error(message?.id, -32_601))
          : sendText(response, 500, "Oh."),
    ],
  ])("is kept when a ping is answered: it was %s", async (_, answer) => {
    const { client, server, slot, snapshot, typesOf } = await startForgotten(answer);
    await client.request("tools/call", {}, { id: "own" });
    expect(server.log).toEqual(["POST tools/call", "POST ping"]);
    expect(slot.snapshot).toBe(snapshot);
    expect(typesOf()).toEqual(["resumed"]);
  });

  test.each([
    ["a quota", 429, {}],
    ["a login", 401, {}],
    ["a scope", 403, { "www-authenticate": "Bearer" }],
    ["a busy server", 503, { "retry-after": "1" }],
  ])("is not asked about after %s", async (_, status, headers) => {
    const { client, server } = await startForgotten((_request, response) =>
      sendJson(response, status, {}, headers),
    );
    expect((await client.request("tools/call")).status).toBe(status);
    expect(server.log).toEqual(["POST tools/call"]);
  });

  test("is kept in an outage, which refuses a new session too", async () => {
    const { client, server, slot, snapshot, typesOf } = await startForgotten(refuses);
    server.use((_, response) => sendText(response, 503, "no upstream"));
    // The call, a ping and `initialize`, which a busy server gets once more until it is back.
    for (const requests of [4, 7]) {
      expect((await client.request("tools/call")).status).toBe(503);
      expect(server.log).toHaveLength(requests);
    }
    server.use((_request, _response, next) => next());
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect([slot.snapshot, typesOf()]).toEqual([snapshot, ["resumed"]]);
  });

  test("is kept when the last ping is answered, and the new session is ended", async () => {
    let pings = 0;
    const { client, server, slot, snapshot } = await startForgotten(({ message }, response, next) =>
      message?.method === "ping" && ++pings === 2 ? next() : sendText(response, 500, "Oh."),
    );
    expect((await client.request("tools/call")).status).toBe(500);
    await slot.settle();
    expect(server.log).toEqual(["POST tools/call", "POST ping", ...recovery.slice(0, 2), "DELETE"]);
    expect(server.requests.at(-1)?.headers["mcp-session-id"]).toBe(server.sessionIds[1]);
    expect(slot.snapshot).toBe(snapshot);
  });

  test("is kept without an answer to the ping", async () => {
    const { client, slot, snapshot } = await startForgotten(({ message, raw }, response) =>
      message?.method === "ping" ? void raw.socket.destroy() : sendText(response, 500, "Oh."),
    );
    expect((await client.request("tools/call")).status).toBe(500);
    expect(slot.snapshot).toBe(snapshot);
  });

  test("is kept when its caller leaves meanwhile", async () => {
    const leave = new AbortController();
    const { client, slot, snapshot } = await startForgotten(({ message }, response) => {
      if (message?.method === "ping") leave.abort(new Error("left"));
      sendText(response, 500, "Oh.");
    });
    const { signal } = leave;
    await expect(client.request("tools/call", {}, { signal })).rejects.toThrow("left");
    expect(slot.snapshot).toBe(snapshot);
  });

  test("is asked about once, by all callers", async () => {
    const { client, server } = await startForgotten(refuses);
    const calls = Array.from({ length: 10 }, () => client.request("tools/call"));
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ reason: unknown });
    const others = server.log.filter((line) => line !== "POST tools/call");
    expect(others).toEqual(["POST ping", ...recovery]);
  });

  test("is replaced with the capabilities of the lost one, in one measured recovery", async () => {
    const statuses: unknown[] = [];
    const { client, server, snapshot } = await startForgotten(refuses, {
      recovery: { around: async (recover) => void statuses.push((await recover()).status) },
    });
    await expect(client.request("tools/call")).rejects.toMatchObject(unknown);
    expect(statuses).toEqual([undefined]);
    const { params } = server.requests.find(
      ({ message }) => message.method === "initialize",
    )!.message;
    expect(params.capabilities).toEqual(snapshot.clientCapabilities);
  });

  test("is reported where losses are, and the new session is ended", async () => {
    const { client, server, slot } = await startForgotten(refuses, {
      recovery: { onLoss: "report" },
    });
    await expect(client.request("tools/call")).rejects.toMatchObject(unknown);
    await slot.settle();
    expect(server.log).toEqual(["POST tools/call", "POST ping", ...recovery.slice(0, 2), "DELETE"]);
    expect(slot.snapshot).toMatchObject({ kind: "sessionless", lost: {} });
  });
});

describe("a session that has answered", () => {
  test("is asked about after a refusal that does not name the request", async () => {
    const { client, forget } = await startForgotten(refuses, {}, false);
    expect(await client.request("tools/call")).toHaveProperty("result");
    forget();
    await expect(client.request("tools/call")).rejects.toMatchObject(unknown);
    expect(await client.request("tools/call")).toHaveProperty("result");
  });

  test.each([
    ["JSON", (response: Parameters<McpHandler>[1], body: object) => sendJson(response, 200, body)],
    [
      "events",
      (response: Parameters<McpHandler>[1], body: object) => {
        startEvents(response);
        response.end(eventText(body));
      },
    ],
  ])(
    "is asked about at the second refusal in a row that names the request, in %s",
    async (_, send) => {
      const { client, server, forget, slot } = await startForgotten(
        ({ message }, response) => send(response, error(message?.id)),
        {},
        false,
      );
      expect(await client.request("tools/call")).toHaveProperty("result");
      forget();
      expect(await client.request("tools/call")).toHaveProperty("error");
      expect(server.log).toEqual(["POST tools/call", "POST tools/call"]);
      await client.request("tools/call").catch(() => undefined);
      await slot.settle();
      expect(await client.request("tools/call")).toHaveProperty("result");
    },
  );
});

test("a tool that says that a session is not found keeps its result, and the next call works", async () => {
  const content = [{ type: "text", text: "Session not found" }];
  const { client, server } = await startForgotten(({ message }, response) =>
    sendJson(response, 200, {
      jsonrpc: "2.0",
      id: message?.id,
      result: { isError: true, content },
    }),
  );
  expect(await client.request("tools/call")).toMatchObject({ result: { isError: true, content } });
  expect(await client.request("tools/call")).not.toHaveProperty("result.isError");
  expect(server.sessionIds).toHaveLength(2);
});

const page: McpHandler = (_, response) => sendText(response, 404, "<h1>Not found</h1>");

describe("a page with HTTP 404", () => {
  test("replaces the session without a ping, and the call is not sent again (S59)", async () => {
    const { client, server } = await startForgotten(page);
    await expect(client.request("tools/call")).rejects.toMatchObject(unknown);
    expect(server.log).toEqual([
      ...["POST tools/call", "POST initialize", "POST notifications/initialized"],
    ]);
  });

  test("has a list sent again (S59)", async () => {
    const { client } = await startForgotten(page);
    expect(await client.request("tools/list")).toHaveProperty("result");
  });
});
