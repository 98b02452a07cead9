import { describe, expect, test } from "vitest";
import { initialize, initialized } from "../../test/handshake-messages.ts";
import { startMcpServer } from "../../test/mcp-server.ts";
import { sessionSnapshot, startStep } from "../../test/step.ts";
import type { SessionSnapshot } from "../session/session-snapshot.ts";

describe("the save point", () => {
  test("is awaited before any other request goes on", async () => {
    const server = await startMcpServer();
    const saving = Promise.withResolvers<void>();
    const saved: SessionSnapshot[] = [];
    const { client, slot } = startStep(server, {
      onSession: async (snapshot) => {
        saved.push(snapshot);
        await saving.promise;
      },
    });
    const calls = [client.request("ping"), client.request("tools/call")];
    await expect.poll(() => saved.length).toBe(1);
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    expect(server.log).toEqual(["POST initialize", "POST notifications/initialized"]);
    expect(slot.snapshot).toBeUndefined();
    saving.resolve();
    await Promise.all(calls);
    expect(server.log).toHaveLength(4);
    expect(saved).toEqual([slot.snapshot]);
  });

  test("wins with the snapshot it returns", async () => {
    const server = await startMcpServer();
    const other = startStep(server);
    await other.client.handshake();
    const { client, slot } = startStep(server, { onSession: () => other.slot.snapshot });
    await client.handshake();
    await client.request("ping");
    expect(server.sessionIds).toHaveLength(2);
    expect(slot.snapshot).toBe(other.slot.snapshot);
    expect(server.requests.at(-1)?.headers["mcp-session-id"]).toBe("secret-session-1");
  });

  test("fails the handshake when it throws, and nothing is saved", async () => {
    const server = await startMcpServer();
    let isDown = true;
    const { client, slot, events } = startStep(server, {
      onSession: async () => {
        if (isDown) throw new Error("store is down");
      },
    });
    await client.post(initialize);
    await expect(client.post(initialized)).rejects.toThrow("store is down");
    await expect(client.request("ping")).rejects.toThrow("store is down");
    expect(slot).toMatchObject({ snapshot: undefined, changed: false });
    expect(events).toEqual([]);
    expect(server.log).not.toContain("POST ping");
    isDown = false;
    expect(await client.request("ping")).toHaveProperty("result");
  });

  test.each<[string, (url: string) => SessionSnapshot]>([
    ["of another URL", () => sessionSnapshot("http://other/mcp")],
    ["of another kind", (url) => ({ version: 1, kind: "sessionless", url })],
  ])("may not return a snapshot %s", async (_, snapshotFor) => {
    const server = await startMcpServer();
    const { client, slot } = startStep(server, { onSession: () => snapshotFor(server.url) });
    await expect(client.handshake()).rejects.toMatchObject({ code: "STATE_INVALID" });
    expect(slot.snapshot).toBeUndefined();
    expect(server.requests).toHaveLength(2);
  });

  test("is asked again after a recovery, and not for a resumed or a sessionless server", async () => {
    const server = await startMcpServer();
    const saved: string[] = [];
    const onSession = ({ sessionId }: { sessionId: string }) => void saved.push(sessionId);
    const first = startStep(server, { onSession });
    await first.client.handshake();
    const second = startStep(server, { onSession, snapshot: first.slot.snapshot! });
    await second.client.handshake();
    await second.client.request("ping");
    expect(saved).toEqual(["secret-session-1"]);
    server.forgetSessions();
    await second.client.request("ping");
    expect(saved).toEqual(["secret-session-1", "secret-session-2"]);
  });

  test("that never ends does not hold a request that aborts", async () => {
    const server = await startMcpServer();
    const { client } = startStep(server, { onSession: () => new Promise(() => {}) });
    const signal = AbortSignal.timeout(50);
    await expect(client.request("ping", undefined, { signal })).rejects.toThrow(/timeout/i);
  });
});
