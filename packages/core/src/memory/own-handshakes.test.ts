import { describe, expect, test } from "vitest";
import { eventText, startEvents, startMcpServer } from "../../test/mcp-server.ts";
import { answerJson, answerText, startSessionlessServer } from "../../test/memory-server.ts";
import {
  modernStep,
  sessionStep,
  shakeHandsListAndCall,
  startMemoryStep,
} from "../../test/memory-step.ts";
import { createServerMemory } from "./server-memory.ts";

const refused = { type: "discarded", reason: "refused" };

/** The state that a step leaves. */
async function saveStep(
  server: Awaited<ReturnType<typeof startSessionlessServer>>,
  options: Parameters<typeof startMemoryStep>[2] = {},
) {
  const step = startMemoryStep(server, undefined, options);
  await shakeHandsListAndCall(step);
  server.takeLog();
  return step.save();
}

/** A later step whose client was given the kept handshake. */
async function startLaterStep() {
  const server = await startSessionlessServer();
  const step = startMemoryStep(server, await saveStep(server));
  await step.client.handshake({ clientInfo: { name: "later", version: "2" } });
  return { ...step, server };
}

describe("a later step", () => {
  test("sends its call alone, for an hour", async () => {
    let now = 0;
    const clock = { now: () => now };
    const server = await startSessionlessServer();
    const saved = await saveStep(server, clock);
    now = 3_600_000;
    const second = startMemoryStep(server, saved, clock);
    const { initialized, listed } = await shakeHandsListAndCall(second);
    expect(initialized).toMatchObject({ protocolVersion: "2025-11-25" });
    expect(listed).toMatchObject({ id: 1, result: { tools: server.state.pages.flat() } });
    expect(listed.result).not.toHaveProperty("ttlMs");
    expect(server.takeLog()).toEqual(["tools/call"]);
    expect([second.slot.changed, second.events]).toEqual([false, []]);
    now = 3_600_001;
    await shakeHandsListAndCall(startMemoryStep(server, saved, clock));
    expect(server.takeLog()).toEqual(sessionStep);
  });

  test.each([
    ["toolList.maxAgeMs", { toolList: { maxAgeMs: 10 } }],
    ["pinMs", { memory: createServerMemory({ pinMs: 10, session: "stateless" }) }],
  ])("makes the handshake after %s", async (_, limits) => {
    let now = 0;
    const options = { ...limits, now: () => now };
    const server = await startSessionlessServer();
    const saved = await saveStep(server, options);
    now = 10;
    await shakeHandsListAndCall(startMemoryStep(server, saved, options));
    now = 11;
    await shakeHandsListAndCall(startMemoryStep(server, saved, options));
    expect(server.takeLog()).toEqual(["tools/call", ...sessionStep]);
  });

  test("opens no stream, but resumes one", async () => {
    const server = await startSessionlessServer();
    const step = startMemoryStep(server, await saveStep(server));
    expect((await step.fetch(server.url)).status).toBe(405);
    expect(server.takeLog()).toEqual([]);
    await step.fetch(server.url, { headers: { "last-event-id": "1" } });
    expect(server.takeLog()).toEqual(["GET"]);
  });

  test("of a client that is older than the kept version makes its own handshake", async () => {
    const server = await startSessionlessServer();
    const step = startMemoryStep(server, await saveStep(server));
    await step.client.handshake({ protocolVersion: "2025-06-18" });
    expect(server.takeLog()[0]).toBe("initialize");
  });

  test("passes batches, and what is no JSON-RPC, unchanged", async () => {
    const server = await startSessionlessServer({
      before: (_, response) => answerText(response, 200, "x"),
    });
    const step = startMemoryStep(server);
    for (const body of ['[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', "no JSON"]) {
      const answer = await step.fetch(server.url, { method: "POST", body });
      expect(await answer.text()).toBe("x");
      expect(server.requests.at(-1)?.body).toBe(body);
    }
  });
});

describe("a probe", () => {
  test.each([400, 200])(
    "is answered as the server did, once it refused one: %i",
    async (status) => {
      const server = await startSessionlessServer();
      const error = { code: -32_601, message: "Method not found" };
      server.state.before = ({ message: { id, method } }, response) =>
        method === "server/discover" && answerJson(response, status, { jsonrpc: "2.0", id, error });
      const first = startMemoryStep(server);
      await first.modern.request("server/discover");
      await shakeHandsListAndCall(first);
      server.takeLog();
      const second = startMemoryStep(server, first.save());
      expect(await second.modern.request("server/discover")).toMatchObject({ error });
      await shakeHandsListAndCall(second);
      expect(server.takeLog()).toEqual(["tools/call"]);
    },
  );

  test("goes out if only the handshake is known, because the server may speak both eras", async () => {
    const server = await startSessionlessServer();
    const step = startMemoryStep(server, await saveStep(server));
    await step.modern.request("server/discover");
    expect(server.takeLog()).toEqual(["server/discover"]);
    const next = startMemoryStep(server, step.save());
    await next.modern.request("server/discover");
    await shakeHandsListAndCall(next);
    expect(server.takeLog()).toEqual(["tools/call"]);
  });

  test.each([401, 403, 429, 503])("that gets HTTP %i tells nothing", async (status) => {
    const server = await startSessionlessServer();
    server.state.before = ({ message }, response) =>
      message.method === "server/discover" && answerText(response, status, "");
    const step = startMemoryStep(server);
    await step.modern.request("server/discover");
    await shakeHandsListAndCall(step);
    expect(step.slot.snapshot).toMatchObject({ initializeResult: {}, toolList: {} });
    expect(JSON.stringify(step.save())).not.toContain("refusesProbe");
  });
});

describe("a server that names a session is not remembered", () => {
  test("and its traffic passes unchanged", async () => {
    const server = await startMcpServer();
    const step = startMemoryStep(server);
    await step.client.handshake();
    const headers = { "mcp-session-id": server.sessionIds[0]!, accept: "application/json" };
    const body = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';
    const answer = await step.fetch(server.url, { method: "POST", headers, body });
    expect(await answer.json()).toMatchObject({ id: 7, result: {} });
    expect(step.slot.snapshot).toBeUndefined();
    await step.client.handshake();
    expect(server.sessionIds).toHaveLength(2);
  });

  test("even if it named none before", async () => {
    const server = await startSessionlessServer();
    const saved = await saveStep(server);
    server.state.before = ({ message }, response) =>
      message.id !== undefined &&
      answerJson(
        response,
        200,
        { jsonrpc: "2.0", id: message.id, result: {} },
        { "mcp-session-id": "s" },
      );
    const step = startMemoryStep(server, saved);
    await shakeHandsListAndCall(step);
    server.takeLog();
    await startMemoryStep(server, step.save()).client.handshake();
    expect(server.takeLog()).toEqual(["initialize", "notifications/initialized"]);
  });
});

test("a handshake is kept once it was acknowledged, and not before", async () => {
  const server = await startSessionlessServer();
  server.state.before = ({ message }, response) =>
    message.method === "notifications/initialized" && answerText(response, 400, "no");
  const step = startMemoryStep(server);
  await step.client.handshake();
  expect(step.slot.snapshot).toBeUndefined();
});

describe("after a refusal of the kept handshake", () => {
  const renewed = ["tools/call", "initialize", "notifications/initialized", "tools/call"];
  const call = { name: "sql", arguments: {} };

  const error = { code: -32_602, message: "Received request before initialization was complete" };

  test.each([
    ["not initialized", 400, "Bad Request: Server not initialized"],
    ["of the version", 400, "Unsupported protocol version (supported versions: 2025-06-18)"],
    ["with HTTP 200", 200, error],
  ])(
    "%s, makes it once in the client's name, and sends the request again",
    async (_, status, no) => {
      const { client, server, events, save } = await startLaterStep();
      let left = 1;
      server.state.before = ({ message: { id, method } }, response) =>
        method === "tools/call" &&
        left-- > 0 &&
        (typeof no === "string"
          ? answerText(response, status, no)
          : answerJson(response, status, { jsonrpc: "2.0", id, error: no }));
      expect(await client.request("tools/call", call)).toMatchObject({ id: 1, result: {} });
      expect(server.requests[1]?.message.params.clientInfo).toEqual({
        name: "later",
        version: "2",
      });
      expect(server.requests[1]?.headers).not.toHaveProperty("mcp-protocol-version");
      expect(server.takeLog()).toEqual(renewed);
      expect(events).toEqual([refused]);
      // The list was of the old handshake.
      await shakeHandsListAndCall(startMemoryStep(server, save()));
      expect(server.takeLog()).toEqual(["tools/list", "tools/call"]);
    },
  );

  test("in an answer stream, lets the client have it, and forgets", async () => {
    const { client, server, events, save } = await startLaterStep();
    server.state.before = ({ message: { id, method } }, response) => {
      if (method !== "tools/call") return false;
      startEvents(response);
      response.end(eventText({ jsonrpc: "2.0", id, error }));
      return true;
    };
    expect(await client.request("tools/call", call)).toMatchObject({ error });
    expect(events).toEqual([refused]);
    delete server.state.before;
    server.takeLog();
    await shakeHandsListAndCall(startMemoryStep(server, save()));
    expect(server.takeLog()).toEqual(sessionStep);
  });

  test("goes on with the version of the new one", async () => {
    const { client, server } = await startLaterStep();
    server.state.supportedVersions = ["2025-06-18"];
    expect(await client.request("tools/call", call)).toMatchObject({ result: {} });
    expect(server.takeLog()).toEqual(renewed);
    expect(await client.request("tools/call", call)).toMatchObject({ result: {} });
    expect(server.takeLog()).toEqual(["tools/call"]);
  });

  test("makes it once for requests that are refused at the same time", async () => {
    const { client, server, events } = await startLaterStep();
    server.state.supportedVersions = ["2025-06-18"];
    const calls = Array.from({ length: 4 }, () => client.request("tools/call", call));
    expect((await Promise.all(calls)).filter(({ result }) => result)).toHaveLength(4);
    expect(server.takeLog().filter((method) => method === "initialize")).toHaveLength(1);
    expect(events).toEqual([refused]);
  });

  test("gives the client the second refusal, and sends nothing more", async () => {
    const { client, server } = await startLaterStep();
    server.state.before = ({ message }, response) =>
      message.method === "tools/call" && answerText(response, 400, "Server not initialized");
    expect(await client.request("tools/call", call)).toMatchObject({ status: 400 });
    expect(server.takeLog()).toEqual(renewed);
  });

  test("gives the client the refusal when the server names a session now, which it ends", async () => {
    const { client, server, slot } = await startLaterStep();
    server.state.before = ({ message, method }, response) => {
      if (method === "DELETE") return answerText(response, 200, "");
      if (message.method !== "initialize")
        return answerText(response, 400, "Server not initialized");
      const { id } = message;
      const named = { "mcp-session-id": "secret" };
      return answerJson(response, 200, { jsonrpc: "2.0", id, result: {} }, named);
    };
    expect(await client.request("tools/call", call)).toMatchObject({ status: 400 });
    await expect.poll(() => server.requests.at(-1)?.method).toBe("DELETE");
    expect(server.requests.at(-1)?.headers["mcp-session-id"]).toBe("secret");
    expect(server.takeLog()).toEqual(["tools/call", "initialize", "DELETE"]);
    expect(JSON.stringify(slot.snapshot)).not.toContain("secret");
  });

  test.each([
    ["401", 401, "not initialized"],
    ["404", 404, "Not Found"],
    ["500", 500, "not initialized"],
  ])("HTTP %s means something else", async (_, status, text) => {
    const { client, server } = await startLaterStep();
    server.state.before = (_request, response) => answerText(response, status, text);
    expect(await client.request("tools/call", call)).toMatchObject({ status });
    expect(server.takeLog()).toEqual(["tools/call"]);
  });
});

test("a server that went on to 2026-07-28 is learnt from as without memory", async () => {
  const server = await startSessionlessServer();
  const step = startMemoryStep(server, await saveStep(server));
  await step.client.handshake();
  const error = {
    code: -32_022,
    message: "Unsupported protocol version",
    data: { supported: ["2026-07-28"] },
  };
  server.state.before = ({ message }, response) =>
    answerJson(response, 400, { jsonrpc: "2.0", id: message.id, error });
  await step.client.request("tools/call", { name: "sql" });
  expect(server.takeLog()).toEqual(["tools/call", "initialize"]);
  await startMemoryStep(server, step.save()).modern.request("server/discover");
  expect(server.takeLog()).toEqual(modernStep.slice(0, 1));
});
