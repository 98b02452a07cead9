import { createMemoryStore, McpSessionError } from "@durable-mcp/core";
import { createFaultyServer } from "@durable-mcp/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { collectEvents } from "../collect-events.ts";
import { alice } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
  type TokenContext,
} from "../../src/index.ts";

type Faulty = Awaited<ReturnType<typeof createFaultyServer>>;
type Options = Parameters<typeof createFaultyServer>[0];
type Fault = (server: Faulty, times: number) => unknown;

const meeting = { on: "server/discover" };
const answers =
  (status: number, body = "", type = "text/plain"): Fault =>
  (server, times) => {
    const headers = { "content-type": type };
    const act = () =>
      Promise.resolve(new Response(status === 202 ? null : body, { status, headers }));
    return server.meet(act, { ...meeting, times });
  };

const page = "<!doctype html><title>Not found</title>";
const outages: [string, Fault, string | number][] = [
  ["502", answers(502), 502],
  ["503", answers(503, "Busy"), 503],
  ["504 with a page", answers(504, page, "text/html"), 504],
  ["429", answers(429), 429],
  ["404 with a page", answers(404, page, "text/html"), 404],
  ["a reset", (server, times) => server.reset({ ...meeting, times }), "reset"],
];
const silence: Fault = (server, times) => server.hang({ ...meeting, times });

/** A server, and steps of one chat on it that ask which tools there are. */
async function start(own: Partial<Options>, connection: Partial<McpClientConnectionOptions> = {}) {
  const server = await createFaultyServer({ tools: { greet: () => "hello" }, ...own });
  onTestFinished(() => server.close());
  const { onEvent, events } = collectEvents();
  const hello = defineMcpClientConnection({
    ...{ url: server.url, description: "A server.", ...connection },
  });
  const sessions = createDurableSessions({
    ...{ connections: { hello }, store: createMemoryStore(), onEvent },
  });
  const step = async () => {
    server.requests.length = 0;
    events.length = 0;
    const use = { principal: alice };
    const tools = await sessions.run("chat", use, async (run) => Object.keys(await run.tools()));
    const methods = server.requests.map(({ rpcMethod, httpMethod }) => rpcMethod ?? httpMethod);
    return { tools, methods, types: events.map(({ type }) => type), events: [...events] };
  };
  return { server, step };
}

const tools = ["hello__greet"];
const ofNewEra = ["server/discover", "tools/list"];
const ofSessions = ["initialize", "notifications/initialized", "tools/list"];

describe.each(outages)("an outage at server/discover (%s)", (_, fault, seen) => {
  test.each(["both", "2026-07-28"] as const)(
    "that passes leaves the era alone (%s)",
    async (era) => {
      const { server, step } = await start({ era });
      fault(server, 1);
      expect(await step()).toMatchObject({
        tools,
        methods: ["server/discover", ...ofNewEra],
        types: [],
      });
    },
  );

  test.each([undefined, "server"] as const)(
    "that stays has the step go on with sessions, which is told and not kept (memory: %s)",
    async (memory) => {
      const { server, step } = await start({ sessions: false }, memory && { memory });
      fault(server, 2);
      const first = await step();
      expect(first).toMatchObject({ tools, types: expect.arrayContaining(["era-unknown"]) });
      expect(first.methods.filter((method) => method !== "GET")).toEqual([
        ...["server/discover", "server/discover"],
        ...ofSessions,
      ]);
      expect(await step()).toMatchObject({
        tools,
        methods: expect.arrayContaining(ofNewEra),
        types: [],
      });
    },
  );

  test("is what a server of the new era alone is not reached for", async () => {
    const { server, step } = await start({ era: "2026-07-28" });
    fault(server, 2);
    const { tools: none, events } = await step();
    expect(none).toEqual([]);
    const data = typeof seen === "number" ? { status: seen } : { reason: seen };
    expect(events).toMatchObject([{ type: "unavailable", error: { data } }]);
    expect(JSON.stringify(events)).not.toContain("revisions");
  });

  test("of a stateful connection is no word on sessions either", async () => {
    const { server, step } = await start({ era: "2026-07-28" }, { session: "stateful" });
    fault(server, 2);
    const { tools: none, events } = await step();
    expect(none).toEqual([]);
    const data = typeof seen === "number" ? { status: seen } : { reason: seen };
    expect(events.at(-1)).toMatchObject({ type: "unavailable", error: { data } });
    expect(await step()).toMatchObject({ tools });
  });

  test("leaves a handshake without a session unkept, where calls may wait", async () => {
    const { server, step } = await start(
      { sessions: false },
      { session: "stateful", waiting: true },
    );
    fault(server, 2);
    const { types } = await step();
    expect(types).toContain("era-unknown");
    const next = await step();
    expect(next.tools).toEqual(tools);
    expect(next.types).toContain("stateless");
  });
});

describe.each([
  ["202", answers(202)],
  ["an empty 200", answers(200)],
  ["a stream that ends", answers(200, ": nothing\n\n", "text/event-stream")],
  ["silence", silence],
] as [string, Fault][])("server/discover without an answer (%s)", (_, fault) => {
  test.each([true, false])(
    "has a server of the session era used (sessions: %s)",
    async (sessions) => {
      const { server, step } = await start(
        { era: "2025-11-25", sessions },
        { timeouts: { connectMs: 1_500 } },
      );
      fault(server, Infinity);
      const { tools: found, methods, types } = await step();
      expect(found).toEqual(tools);
      // A silent server gets one beside discovery, too. Each session is ended.
      const isSilent = fault === silence;
      expect(methods.filter((method) => method === "initialize")).toHaveLength(isSilent ? 2 : 1);
      const ends = () => server.requests.filter(({ httpMethod }) => httpMethod === "DELETE").length;
      await expect.poll(ends).toBe(sessions ? (isSilent ? 2 : 1) : 0);
      expect(types.filter((type) => type !== "session-unused")).toEqual([]);
    },
  );
});

describe("a server that begins slowly", () => {
  test.each(["both", "2026-07-28"] as const)(
    "is used in the new era all the same (%s)",
    async (era) => {
      const { server, step } = await start({ era }, { timeouts: { connectMs: 5_000 } });
      const { release } = server.holdAnswer(meeting);
      const stepping = step();
      // The handshake beside it goes out, and discovery answers after that.
      const beside = () => server.requests.find(({ rpcMethod }) => rpcMethod === "initialize");
      const status = era === "both" ? 200 : 400;
      await expect.poll(() => beside()?.status, { timeout: 4_000 }).toBe(status);
      release();
      const { tools: found, methods } = await stepping;
      expect(found).toEqual(tools);
      expect(methods).toContain("tools/list");
      expect(methods).not.toContain("notifications/initialized");
      // The session is ended that the handshake had made.
      const ends = () => server.requests.filter(({ httpMethod }) => httpMethod === "DELETE").length;
      await expect.poll(ends).toBe(era === "both" ? 1 : 0);
    },
  );

  test("is given up when it answers nothing in time", async () => {
    const { server, step } = await start({}, { timeouts: { connectMs: 1_500 } });
    server.hang({ on: "*" });
    const { tools: none, events } = await step();
    expect(none).toEqual([]);
    expect(events).toMatchObject([{ type: "unavailable", reason: "timeout" }]);
  });
});

test.each([401, 403])(
  "a user who has to sign in before the server says what it speaks is asked to (%i)",
  async (status) => {
    let isSignedIn = false;
    const getToken = async ({ refused }: TokenContext) => {
      if (refused && !isSignedIn)
        throw new McpSessionError("AUTHORIZATION_REQUIRED", "Connection hello: sign in.");
      return await Promise.resolve({ token: isSignedIn ? "wide" : "narrow" });
    };
    const { server, step } = await start(
      { era: "2026-07-28" },
      { session: "stateful", auth: { getToken } },
    );
    const refuses = async () =>
      await Promise.resolve(
        new Response(null, {
          status,
          headers: { "www-authenticate": 'Bearer error="insufficient_scope", scope="notes"' },
        }),
      );
    server.meet(refuses, { ...meeting, times: 1 });
    const { tools: none, events } = await step();
    expect(none).toEqual([]);
    expect(events.at(-1)).toMatchObject({ error: { code: "AUTHORIZATION_REQUIRED" } });
    isSignedIn = true;
    expect(await step()).toMatchObject({ tools });
  },
);
