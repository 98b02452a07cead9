import { describe, expect, test, vi } from "vitest";
import { sendText, startMcpServer, toolDefinition } from "../../test/mcp-server.ts";
import { createRpcClient } from "../../test/rpc-client.ts";
import { startLostStep, startStep } from "../../test/step.ts";
import type { OnSession, OnStart, SessionStart } from "../session/session-fetch-options.ts";

const prepare =
  (url: string) =>
  async ({ fetch }: SessionStart) => {
    const client = createRpcClient(fetch, url);
    await client.handshake();
    await client.request("tools/call", { name: "select", arguments: "workspace" });
  };

describe("onStart", () => {
  test("runs after the acknowledgement and before the save and any waiting call", async () => {
    const server = await startMcpServer();
    const order: string[] = [];
    const onStart = vi.fn<OnStart>(prepare(server.url));
    const { client, slot } = startStep(server, {
      onStart,
      onSession: () => void order.push(`saved after ${server.log.length}`),
    });
    await Promise.all([1, 2].map((n) => client.request("tools/call", { arguments: n }, { id: n })));
    expect(server.log).toEqual([
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/call",
      "POST tools/call",
      "POST tools/call",
    ]);
    expect(server.requests[2]?.message.params.name).toBe("select");
    expect(order).toEqual(["saved after 3"]);
    expect(onStart).toHaveBeenCalledExactlyOnceWith({
      reason: "started",
      fetch: expect.any(Function),
      abortSignal: expect.any(AbortSignal),
    });
    expect(new Set(server.requests.map(({ message }) => message.id)).size).toBe(5);
    expect(slot.snapshot).toMatchObject({ kind: "session" });
  });

  test("does not run for a session that was saved", async () => {
    const server = await startMcpServer();
    const first = startStep(server);
    await first.client.handshake();
    const onStart = vi.fn<OnStart>();
    const second = startStep(server, { snapshot: first.slot.snapshot!, onStart });
    await second.client.request("ping");
    expect(onStart).not.toHaveBeenCalled();
  });

  test("runs again after a loss, before the call is sent again", async () => {
    const reasons: string[] = [];
    const { client, server } = await startLostStep({
      onStart: async (start) => {
        reasons.push(start.reason);
        await prepare(server.url)(start);
      },
    });
    await client.request("tools/call", { name: "work" });
    expect(reasons).toEqual(["recovered"]);
    expect(server.requests.flatMap(({ message }) => message.params?.name ?? [])).toEqual([
      "work",
      "select",
      "work",
    ]);
  });

  test("leaves the tools it listed to the step", async () => {
    const server = await startMcpServer();
    const { client, slot } = startStep(server, {
      onStart: async ({ fetch }) => {
        await createRpcClient(fetch, server.url).request("tools/list");
      },
    });
    await client.handshake();
    expect(slot.snapshot).toMatchObject({ toolList: { tools: [toolDefinition("echo")] } });
    expect(await client.request("tools/list")).toMatchObject({ result: { tools: [{}] } });
    expect(server.log.filter((entry) => entry === "POST tools/list")).toHaveLength(1);
  });

  test("that fails ends the session, fails the request and leaves the slot empty", async () => {
    const server = await startMcpServer();
    const onSession = vi.fn<OnSession>();
    const { client, events, slot } = startStep(server, {
      onSession,
      onStart: () => Promise.reject(new Error("no such workspace")),
    });
    await expect(client.request("tools/call")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { field: "onStart" },
      cause: { message: "no such workspace" },
    });
    await slot.settle();
    expect(server.log).toEqual(["POST initialize", "POST notifications/initialized", "DELETE"]);
    expect(events).toEqual([{ type: "start-failed", reason: "started" }]);
    expect(onSession).not.toHaveBeenCalled();
    expect(slot).toMatchObject({ snapshot: undefined, changed: false });
    await expect(client.request("tools/call")).rejects.toMatchObject({
      data: { field: "onStart" },
    });
    expect(server.sessionIds).toHaveLength(2);
  });

  test.each([true, false])("fails when the session is lost in it, caught: %s", async (caught) => {
    const server = await startMcpServer();
    server.use(({ message }, response, next) =>
      message?.params?.name === "select" ? sendText(response, 404, "Session not found") : next(),
    );
    const codes: unknown[] = [];
    const { client, slot } = startStep(server, {
      onStart: async (start) => {
        await prepare(server.url)(start).catch((error: { code: unknown }) => {
          codes.push(error.code);
          if (!caught) throw error;
        });
        if (caught) await prepare(server.url)(start).catch((error) => codes.push(error.code));
      },
    });
    await expect(client.request("tools/call")).rejects.toMatchObject({
      data: { field: "onStart" },
    });
    expect(new Set(codes)).toEqual(new Set(["SESSION_LOST"]));
    expect(server.log.filter((entry) => entry === "POST initialize")).toHaveLength(1);
    expect(slot.snapshot).toBeUndefined();
  });

  test("that takes too long is ended, and its fetch works no more", async () => {
    const server = await startMcpServer();
    let start: SessionStart | undefined;
    const { client } = startStep(server, {
      timeouts: { startMs: 20 },
      onStart: async (given) => {
        start = given;
        await new Promise(() => {});
      },
    });
    await expect(client.request("tools/call")).rejects.toThrow("did not end within 20 ms");
    expect(start?.abortSignal.aborted).toBe(true);
    const late = createRpcClient(start!.fetch, server.url).request("ping");
    await expect(late).rejects.toThrow("onStart did not end within 20 ms");
    await expect.poll(() => server.log.at(-1)).toBe("DELETE");
  });

  test("may connect an older client without giving the session up", async () => {
    const server = await startMcpServer();
    const { client } = startStep(server, {
      onStart: async ({ fetch }) => {
        const older = createRpcClient(fetch, server.url);
        await older.handshake({ protocolVersion: "2025-03-26" });
        await older.request("tools/call", { name: "select" });
      },
    });
    await client.request("ping");
    expect(server.sessionIds).toHaveLength(1);
  });
});
