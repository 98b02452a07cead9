import { describe, expect, test } from "vitest";
import { createModernClient, startModernServer } from "../../test/memory-server.ts";
import { modernStep, probeListAndCall } from "../../test/memory-step.ts";
import { startMcpServer } from "../../test/mcp-server.ts";
import { startStep } from "../../test/step.ts";
import { parseSessionSnapshot, type SessionSnapshot } from "../session/session-snapshot.ts";
import { createSessionFetch } from "../create-session-fetch.ts";
import { createMemoryStore } from "../stores/memory-store.ts";
import { createWaitingCalls } from "../waiting/waiting-calls.ts";
import { createServerMemory } from "./server-memory.ts";

/** A step with a session fetch and a memory, as in a process of its own. */
function startRememberingStep(
  server: { readonly url: string },
  saved?: SessionSnapshot,
  options: Parameters<typeof startStep>[1] = {},
) {
  const snapshot = saved && parseSessionSnapshot(JSON.parse(JSON.stringify(saved)));
  const memory = createServerMemory();
  const step = startStep(server, { memory, ...options, ...(snapshot && { snapshot }) });
  return { ...step, modern: createModernClient(step.fetch, server.url) };
}

test("beneath a session fetch, a later step on a server of 2026-07-28 sends its call alone", async () => {
  const server = await startModernServer();
  const first = startRememberingStep(server);
  await probeListAndCall(first);
  expect(server.takeLog()).toEqual(["initialize", ...modernStep]);
  expect(first.slot.snapshot).toMatchObject({
    kind: "stateless",
    kept: [{ method: "server/discover", scope: "private" }, { method: "tools/list" }],
  });
  const second = startRememberingStep(server, first.slot.snapshot);
  await probeListAndCall(second);
  expect(server.takeLog()).toEqual(["tools/call"]);
  expect(second.slot.changed).toBe(false);
});

test("a session is asked for again in time, and what is kept stays", async () => {
  let now = 0;
  const options = { now: () => now };
  const day = 86_400_000;
  const server = await startModernServer({ ttlMs: 2 * day });
  const first = startRememberingStep(server, undefined, options);
  await probeListAndCall(first);
  server.takeLog();
  now = day + 1;
  const second = startRememberingStep(server, first.slot.snapshot, options);
  await probeListAndCall(second);
  expect(server.takeLog()).toEqual(["initialize", "tools/call"]);
  expect(second.slot.snapshot).toMatchObject({ decidedAt: day + 1, kept: [{}, {}] });
});

test("lies above calls that wait, which declare that a person can be asked", async () => {
  const server = await startModernServer();
  const waiting = createWaitingCalls({
    ...{ store: createMemoryStore(), sessionId: "chat", connection: "db", url: server.url },
    principal: { type: "app" },
  });
  const first = startRememberingStep(server, undefined, { waiting });
  await probeListAndCall(first);
  // No session is asked for, so nobody knows that the server has none.
  expect(server.takeLog()).toEqual(modernStep);
  expect(first.slot.snapshot).toMatchObject({ kind: "sessionless", kept: [{}, {}] });
  const second = startRememberingStep(server, first.slot.snapshot, { waiting });
  await probeListAndCall(second);
  const [call] = server.requests;
  expect(server.takeLog()).toEqual(["tools/call"]);
  expect(call?.message.params["_meta"]).toMatchObject({
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
  });
  expect(call?.headers["mcp-param-region"]).toBe("eu");
});

test("a session stays what it was", async () => {
  const server = await startMcpServer();
  const { client, slot } = startRememberingStep(server);
  await client.handshake();
  await client.request("tools/list");
  const { snapshot } = slot;
  expect(snapshot).toMatchObject({ kind: "session", toolList: {} });
  const next = startRememberingStep(server, snapshot);
  server.requests.length = 0;
  await next.client.handshake();
  await next.client.request("tools/call", { name: "echo", arguments: {} });
  expect(server.log).toEqual(["POST tools/call"]);
});

describe("options", () => {
  test.each([
    ["pinMs", () => createServerMemory({ pinMs: 0 })],
    ["pin", () => createServerMemory({ pin: 1 } as never)],
    ["session", () => createServerMemory({ session: true } as never)],
    ["memory", () => createSessionFetch({ url: "http://x", memory: {} } as never)],
  ])("names %s", (field, create) => {
    expect(create).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } }),
    );
  });

  test("requests to other origins need a fetch of the application", async () => {
    const { slot } = startStep({ url: "http://127.0.0.1:9/mcp" });
    const memory = createServerMemory({ session: "stateless" });
    const fetch = createSessionFetch({ url: "http://127.0.0.1:9/mcp", slot, memory });
    await expect(fetch("http://localhost:9/")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "other-origin" },
    });
  });
});
