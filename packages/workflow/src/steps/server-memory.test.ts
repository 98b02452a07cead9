/** What a server says of itself, in the steps of a run. */
import { defineMcpClientConnection, type McpClientConnectionOptions } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { callInStep } from "./call-step.ts";
import { openInStep } from "./open-step.ts";
import { createSealedSessions } from "./sealed-sessions.ts";
import type { StepSessions } from "./step-sessions.ts";
import { createStoredSessions } from "./stored-sessions.ts";

const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
const caching = { ttlMs: 60_000, cacheScope: "private" };
const parts = { emit: () => undefined, now: Date.now };
const kept: [name: string, createSessions: () => () => StepSessions][] = [
  [
    "the event log",
    () => () =>
      createSealedSessions({
        ...parts,
        keys: { current: new Uint8Array(32) },
        expiresInMs: 60_000,
        emitRefused: () => undefined,
      }),
  ],
  [
    "a store",
    () => {
      const store = createMemoryStore();
      return () => createStoredSessions({ ...parts, store, agent: undefined });
    },
  ],
];

/** Opens a connection in one step, and makes a call in each of two others. Gives what the calls sent. */
async function callTwice(
  server: { readonly url: string; readonly log: string[]; readonly requests: object[] },
  sessions: () => StepSessions,
  options: Partial<McpClientConnectionOptions>,
  tool: string,
) {
  const definition = defineMcpClientConnection({
    ...{ url: server.url, description: "A server.", ...options },
  });
  const step = { connection: "one", definition, principal, sessionId: "chat", slot: undefined };
  const { slot } = (await openInStep(sessions(), step, "throw")).opened;
  server.requests.length = 0;
  const results = [];
  for (const toolCallId of ["a", "b"]) {
    const call = { connection: "one", tool, input: { region: "eu-west" }, toolCallId, principal };
    const use = { ...call, mayRunTwice: false, tellLoss: false };
    results.push(await callInStep(sessions(), { ...step, slot }, use));
  }
  return { results, log: server.log, slot };
}

test.each(kept)(
  "is kept in %s: a call is the only request of its step",
  async (_, createSessions) => {
    const properties = {
      region: { type: "string", "x-mcp-header": "Region", description: "Where." },
      text: { type: "string", description: "A text that no step needs." },
    };
    const server = await startModernServer({
      caching,
      inputSchema: { type: "object", properties },
    });
    const { results, log, slot } = await callTwice(
      server,
      createSessions(),
      { memory: "server" },
      "greet",
    );
    expect(results).toMatchObject([{ ok: true }, { ok: true }]);
    expect(log).toEqual(["POST tools/call", "POST tools/call"]);
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ "mcp-param-region": "eu-west" });
    }
    // The event log has each step's copy of it.
    expect(slot?.length ?? 0).toBeLessThan(2_000);
  },
);

test.each(kept)("is kept in %s of servers of the session era", async (_, createSessions) => {
  for (const options of [{ memory: "server" }, { session: "stateful" }] as const) {
    const server = await startNotebookServer({ isSessionless: true });
    const { results, log } = await callTwice(server, createSessions(), options, "list_notes");
    expect(results).toMatchObject([{ ok: true }, { ok: true }]);
    expect(log).toEqual(["POST tools/call", "POST tools/call"]);
  }
});

test.each(kept)("is kept in %s beside calls that wait", async (_, createSessions) => {
  const server = await startAskingServer();
  const options = { waiting: true, memory: { pinMs: 60_000 } } as const;
  const { results, log } = await callTwice(server, createSessions(), options, "order");
  expect(results).toMatchObject([
    { ok: true, waiting: {} },
    { ok: true, waiting: {} },
  ]);
  expect(log).toEqual(["POST tools/call", "POST tools/call"]);
});

test("is not asked for: a step sends what it did before", async () => {
  const server = await startModernServer({ caching });
  const [, createSessions] = kept[0]!;
  const { log, slot } = await callTwice(server, createSessions(), {}, "greet");
  const all = ["POST server/discover", "POST tools/list", "POST tools/call"];
  expect(log).toEqual([...all, ...all]);
  expect(slot).toBeUndefined();
});
