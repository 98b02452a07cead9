import { describe, expect, test } from "vitest";
import { startChangingServer } from "../../test/changing-server.ts";
import { createModernClient } from "../../test/memory-server.ts";
import { shakeHandsListAndCall, startMemoryStep } from "../../test/memory-step.ts";
import { sendJson, sendText } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { createServerMemory } from "../memory/server-memory.ts";
import { parseSessionSnapshot, type SessionSnapshot } from "../session/session-snapshot.ts";

const changed = {
  data: { reason: "other-era" },
  message: expect.stringMatching(/not carried out/),
};

/** The next step, in a process of its own. */
function nextStep(
  server: { readonly url: string },
  saved: SessionSnapshot | undefined,
  options: Parameters<typeof startStep>[1] = {},
) {
  const snapshot = parseSessionSnapshot(JSON.parse(JSON.stringify(saved)));
  const step = startStep(server, { snapshot, ...options });
  return { ...step, modern: createModernClient(step.fetch, server.url) };
}

async function discoverAndCall({ modern }: Pick<ReturnType<typeof nextStep>, "modern">) {
  await modern.request("server/discover");
  return await modern.request("tools/call", { name: "echo" });
}

const modernResult = { result: { content: [{ text: "modern" }] } };
const typesOf = (events: readonly { type: string }[]) => events.map(({ type }) => type);

describe("a kept session whose server comes back without sessions", () => {
  test("is given up after one handshake, and the next step heals and tells of the loss", async () => {
    const server = await startChangingServer();
    const snapshot = await saveSession(server);
    server.turnModern();
    const { client, slot, events } = nextStep(server, snapshot);
    await expect(client.request("tools/call")).rejects.toMatchObject(changed);
    expect(server.log).toEqual(["POST tools/call", "POST tools/call", "POST initialize"]);
    expect(typesOf(events)).toEqual(["resumed", "lost", "stateless"]);
    expect(slot.snapshot).toMatchObject({ kind: "stateless", replacesLost: true });

    const later = nextStep(server, slot.snapshot);
    expect(await discoverAndCall(later)).toMatchObject(modernResult);
    expect(later.slot.takeLossNotice()).toBe(true);
    expect(later.slot.snapshot).not.toHaveProperty("replacesLost");
  });

  test("heals in the same step for a client that connects anew", async () => {
    const server = await startChangingServer();
    const { client, fetch } = nextStep(server, await saveSession(server));
    server.turnModern();
    const calls = Array.from({ length: 5 }, () => client.request("tools/call"));
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ reason: changed });
    }
    expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
    const modern = createModernClient(fetch, server.url);
    expect(await discoverAndCall({ modern })).toMatchObject(modernResult);
  });

  test.each(["in words", "by code"])("or with another version, refused %s", async (how) => {
    const server = await startChangingServer();
    const snapshot = await saveSession(server);
    const version = "2025-06-18";
    const text = `Bad Request: Unsupported protocol version: 2025-11-25 (supported versions: ${version})`;
    const code = how === "by code" ? -32_022 : -32_000;
    const data = how === "by code" ? { data: { supported: [version] } } : {};
    server.use(({ message, headers }, response, next) => {
      if (message?.method === "initialize") {
        const result = { ...snapshot.initializeResult, protocolVersion: version };
        const body = { jsonrpc: "2.0", id: message.id, result };
        return sendJson(response, 200, body, { "mcp-session-id": `other-${server.log.length}` });
      }
      if (headers["mcp-protocol-version"] === version) {
        const result = { content: [] };
        return message?.id === undefined
          ? sendText(response, 202, "")
          : sendJson(response, 200, { jsonrpc: "2.0", id: message.id, result });
      }
      const error = { code, message: text, ...data };
      return message ? sendJson(response, 400, { jsonrpc: "2.0", id: null, error }) : next();
    });
    const { client, slot, events } = nextStep(server, snapshot);
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(typesOf(events)).toEqual(["resumed", "lost", "recovered"]);
    expect(events.at(-1)).toMatchObject({ changed: true, protocolVersion: version });
    expect(slot.takeLossNotice()).toBe(true);
  });

  test("stays with a balancer over replicas of both eras", async () => {
    const server = await startChangingServer();
    const snapshot = await saveSession(server);
    for (const turns of [
      ["modern", "old"],
      ["modern", "modern", "old"],
    ] as const) {
      server.alternate(turns);
      for (let step = 0; step < 6; step += 1) {
        const { client, slot } = nextStep(server, snapshot);
        const answer = await client.request("tools/call", { name: "echo" });
        // The call, or the refusal as it came.
        expect(answer.result ?? answer.error.code).toBeTruthy();
        expect(slot.snapshot).toMatchObject({ kind: "session", sessionId: snapshot.sessionId });
        expect(slot.takeLossNotice()).toBe(false);
      }
    }
  });

  test("stays if the handshake gets no answer, or says nothing of the era", async () => {
    const server = await startChangingServer();
    const snapshot = await saveSession(server);
    const error = { code: -32_022, message: "no", data: { supported: ["2026-07-28"] } };
    for (const status of [401, 404, 503]) {
      server.use(({ message }, response) =>
        message?.method === "initialize"
          ? sendText(response, status, "no")
          : sendJson(response, 400, { jsonrpc: "2.0", id: message?.id, error }),
      );
      const { client, slot } = nextStep(server, snapshot);
      expect(await client.request("tools/call")).toMatchObject({ error: { code: -32_022 } });
      expect(slot.snapshot).toMatchObject({ kind: "session" });
    }
  });

  test("a call is never sent again where the application forbids it", async () => {
    const server = await startChangingServer();
    const { client, slot } = nextStep(server, await saveSession(server), {
      recovery: { resend: "never" },
    });
    server.turnModern();
    await expect(client.request("tools/call")).rejects.toMatchObject(changed);
    expect(server.log).toEqual(["POST tools/call", "POST initialize"]);
    expect(slot.snapshot).toMatchObject({ kind: "stateless" });
  });

  test("an application's own rule for refusals has the last word", async () => {
    const server = await startChangingServer();
    const { client } = nextStep(server, await saveSession(server), {
      recovery: { classifyLoss: () => "none" },
    });
    server.turnModern();
    expect(await client.request("tools/call")).toMatchObject({ error: { code: -32_022 } });
    expect(server.log).toEqual(["POST tools/call"]);
  });
});

describe("a kept handshake without a session whose server comes back without handshakes", () => {
  test("is given up, and the next step heals", async () => {
    const server = await startChangingServer();
    const { sessionId: _, clientCapabilities: _own, ...handshake } = await saveSession(server);
    const saved = { ...handshake, kind: "sessionless", keptAt: Date.now() } as const;
    server.turnModern();
    const { client, slot, events } = nextStep(server, saved);
    await expect(client.request("tools/call")).rejects.toMatchObject(changed);
    expect(typesOf(events)).toEqual(["sessionless", "discarded", "stateless"]);
    expect(await discoverAndCall(nextStep(server, slot.snapshot))).toMatchObject(modernResult);
    expect(slot.takeLossNotice()).toBe(false);
  });
});

/** What a step on a server without sessions leaves, and the server, which has some by now. */
async function saveVerdict(options: Parameters<typeof startStep>[1] = {}) {
  const server = await startChangingServer();
  server.turnModern();
  const { slot, fetch } = startStep(server, options);
  await discoverAndCall({ modern: createModernClient(fetch, server.url) });
  expect(slot.snapshot).toMatchObject({ kind: "stateless" });
  server.turnOld();
  server.requests.length = 0;
  return { server, saved: slot.snapshot };
}

describe("a kept verdict whose server has sessions by now", () => {
  const memory = createServerMemory();

  test("gives way to a session when a client probes", async () => {
    const { server, saved } = await saveVerdict();
    const { client, modern, slot, events } = nextStep(server, saved);
    expect(await modern.request("server/discover")).toMatchObject({ error: { code: -32_601 } });
    await client.handshake();
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(slot.snapshot).toMatchObject({ kind: "session" });
    expect(typesOf(events)).toEqual(["started"]);
    expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
  });

  test("gives way at the first refusal of a client that was answered from memory", async () => {
    const { server, saved } = await saveVerdict({ memory });
    const { modern, client, slot, events } = nextStep(server, saved, { memory });
    const call = discoverAndCall({ modern });
    await expect(call).rejects.toMatchObject(changed);
    expect(slot.snapshot).toMatchObject({ kind: "session" });
    expect(typesOf(events)).toEqual(["discarded", "started"]);
    // A new client goes on in the session that was made.
    await client.handshake();
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(server.sessionIds).toHaveLength(1);
    const later = nextStep(server, slot.snapshot);
    server.requests.length = 0;
    expect(await later.client.request("tools/call")).toHaveProperty("result");
    expect(server.log).toEqual(["POST tools/call"]);
  });

  test("gives way once with a balancer over replicas of both eras, and the session stays", async () => {
    const { server, saved } = await saveVerdict();
    server.alternate(["old", "old", "modern"]);
    const { client, modern, slot } = nextStep(server, saved);
    await modern.request("server/discover");
    await client.handshake();
    expect(await client.request("tools/call")).toHaveProperty("result");
    let { snapshot } = slot;
    for (let step = 0; step < 6; step += 1) {
      const later = nextStep(server, snapshot);
      expect(await later.client.request("tools/call")).toHaveProperty("result");
      ({ snapshot } = later.slot);
    }
    expect(snapshot).toMatchObject({ kind: "session" });
    expect(server.sessionIds).toHaveLength(1);
  });

  test.each([401, 403, 429, 500, 503])("stays after HTTP %i", async (status) => {
    const { server, saved } = await saveVerdict();
    server.use((_, response) => sendText(response, status, "Mcp-Session-Id header is required"));
    const later = nextStep(server, saved);
    expect(await later.modern.request("tools/call", { name: "echo" })).toMatchObject({ status });
    expect(later.slot.changed).toBe(false);
    expect(server.log).toEqual(["POST tools/call"]);
  });
});

describe("what a memory keeps of a server that changes its era", () => {
  test("of 2026-07-28, is dropped at the first refusal, and the next step heals", async () => {
    const server = await startChangingServer();
    server.turnModern();
    const first = startMemoryStep(server);
    await first.modern.request("server/discover");
    await first.modern.list();
    server.turnOld();
    const second = startMemoryStep(server, first.save());
    await second.modern.request("server/discover");
    await second.modern.request("tools/call", { name: "echo" });
    expect(typesOf(second.events)).toEqual(["discarded"]);
    const third = startMemoryStep(server, second.save());
    expect(await third.modern.request("server/discover")).not.toHaveProperty("result");
  });

  test("of a handshake, is dropped at the first refusal, and the next step heals", async () => {
    const server = await startChangingServer();
    server.use(({ message }, response) => {
      if (message?.method === "initialize") {
        const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} } };
        const own = { ...result, serverInfo: { name: "s", version: "1" } };
        return sendJson(response, 200, { jsonrpc: "2.0", id: message.id, result: own });
      }
      if (message?.method === "server/discover") return sendText(response, 400, "Bad Request");
      if (message?.id === undefined) return sendText(response, 202, "");
      const result = message.method === "tools/list" ? { tools: [] } : { content: [] };
      return sendJson(response, 200, { jsonrpc: "2.0", id: message.id, result });
    });
    const first = startMemoryStep(server);
    await first.modern.request("server/discover");
    await shakeHandsListAndCall(first);
    server.turnModern();
    const second = startMemoryStep(server, first.save());
    await second.client.handshake();
    expect(await second.client.request("tools/call")).toMatchObject({ error: { code: -32_022 } });
    expect(typesOf(second.events)).toEqual(["discarded", "stateless"]);
    const third = startMemoryStep(server, second.save());
    expect(await discoverAndCall(third)).toMatchObject(modernResult);
  });
});
