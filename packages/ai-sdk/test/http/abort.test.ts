import { describe, expect, test, vi } from "vitest";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { alice, callForText, callTool, startApplication } from "../step.ts";
import type { McpClientConnectionOptions } from "../../src/index.ts";

async function startRegistry(
  options: Partial<McpClientConnectionOptions> = {},
  abortSignal?: AbortSignal,
) {
  const server = await startNotebookServer();
  const application = startApplication({ notes: notebook(server, options) });
  const registry = application.provider.create({ principal: alice, abortSignal });
  return { server, registry, ...application };
}

describe("aborting a call", () => {
  test("tells the server, which aborts the tool, and leaves the session as it is", async () => {
    const { server, registry } = await startRegistry();
    const tools = await registry.tools();
    const controller = new AbortController();
    const call = callTool(tools, "notes__wait", {}, controller.signal);
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    controller.abort();
    await expect(call).rejects.toThrow(/abort/i);
    await vi.waitFor(() => expect(server.waits).toEqual(["started", "aborted"]));
    expect(await callForText(tools, "notes__list_notes")).toBe("");
    expect(server.sessionIds).toHaveLength(1);
    await registry.dispose();
  });

  test("cancels that call and no other", async () => {
    const { server, registry } = await startRegistry();
    const tools = await registry.tools();
    const controller = new AbortController();
    const aborted = callTool(tools, "notes__wait", {}, controller.signal);
    const other = callForText(tools, "notes__wait");
    await vi.waitFor(() => expect(server.waits).toHaveLength(2));
    controller.abort();
    await expect(aborted).rejects.toThrow(/abort/i);
    await vi.waitFor(() => expect(server.waits).toContain("aborted"));
    server.release();
    expect(await other).toBe("finished");
    await registry.dispose();
  });

  test("after its answer sends nothing", async () => {
    const { server, registry } = await startRegistry();
    const tools = await registry.tools();
    const controller = new AbortController();
    await callTool(tools, "notes__list_notes", {}, controller.signal);
    server.requests.length = 0;
    controller.abort();
    await callTool(tools, "notes__list_notes");
    expect(server.log).toEqual(["POST tools/call"]);
    await registry.dispose();
  });

  test("before it starts sends nothing", async () => {
    const { server, registry } = await startRegistry();
    const tools = await registry.tools();
    server.requests.length = 0;
    await expect(callTool(tools, "notes__wait", {}, AbortSignal.abort())).rejects.toThrow(/abort/i);
    expect(server.requests).toEqual([]);
    await registry.dispose();
  });

  test("of a stateless connection drops the request only, as @ai-sdk/mcp does", async () => {
    const { server, registry } = await startRegistry({ session: "stateless" });
    const controller = new AbortController();
    const call = callTool(await registry.tools(), "notes__wait", {}, controller.signal);
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    controller.abort();
    await expect(call).rejects.toThrow(/abort/i);
    server.release();
    await vi.waitFor(() => expect(server.waits).toEqual(["started", "finished"]));
    expect(server.log).not.toContain("POST notifications/cancelled");
    await registry.dispose();
  });
});

describe("timeouts", () => {
  test("callMs ends a call and cancels it, but not one that is quick enough", async () => {
    const { server, registry } = await startRegistry({ timeouts: { callMs: 1_000 } });
    const tools = await registry.tools();
    expect(await callForText(tools, "notes__list_notes")).toBe("");
    const call = callTool(tools, "notes__wait", {}, new AbortController().signal);
    await expect(call).rejects.toMatchObject({
      name: "McpSessionError",
      code: "OUTCOME_UNKNOWN",
      message: `tools/call at ${server.origin}: no answer within 1000 ms; whether it was carried out is unknown. Check before you send it again.`,
      data: { method: "tools/call", origin: server.origin, connection: "notes" },
      cause: { cause: { name: "TimeoutError" } },
    });
    await vi.waitFor(() => expect(server.waits).toEqual(["started", "aborted"]));
    await registry.dispose();
  });

  test("callMs says that the outcome is unknown, of a stateless connection as well", async () => {
    const { registry } = await startRegistry({ session: "stateless", timeouts: { callMs: 500 } });
    await expect(callTool(await registry.tools(), "notes__wait")).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      data: { connection: "notes" },
    });
    await registry.dispose();
  });

  test("callMs leaves the caller's signal in force", async () => {
    const { server, registry } = await startRegistry({ timeouts: { callMs: 60_000 } });
    const controller = new AbortController();
    const call = callTool(await registry.tools(), "notes__wait", {}, controller.signal);
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    controller.abort(new Error("enough"));
    await expect(call).rejects.toMatchObject({
      name: "MCPClientError",
      cause: { message: "enough" },
    });
    await vi.waitFor(() => expect(server.waits).toEqual(["started", "aborted"]));
    await registry.dispose();
  });

  test.each(["stateful", "stateless"] as const)(
    "connectMs ends a handshake that hangs: %s",
    async (session) => {
      const { server, registry, events } = await startRegistry({
        session,
        timeouts: { connectMs: 1_000 },
      });
      server.intercept(on("POST", () => undefined));
      expect(await registry.tools()).toEqual({});
      expect(events).toMatchObject([
        { type: "unavailable", error: { code: "CONNECTION_UNAVAILABLE" } },
      ]);
      server.intercept(() => "next");
      expect(Object.keys(await registry.tools())).toContain("notes__add_note");
      await registry.dispose();
    },
  );

  test("connectMs ends a getToken that hangs", async () => {
    const auth = { getToken: () => new Promise<never>(() => undefined) };
    const { registry } = await startRegistry({ auth, timeouts: { connectMs: 1_000 } });
    await expect(registry.client("notes")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
    });
    await registry.dispose();
  });
});

describe("the abortSignal of create", () => {
  test.each(["stateful", "stateless"] as const)("ends a handshake: %s", async (session) => {
    const controller = new AbortController();
    const { server, registry, events } = await startRegistry({ session }, controller.signal);
    server.intercept(on("POST", () => undefined));
    const listing = registry.tools();
    const client = registry.client("notes");
    client.catch(() => undefined);
    await vi.waitFor(() => expect(server.requests).toHaveLength(1));
    controller.abort(new Error("enough"));
    await expect(listing).rejects.toThrow("enough");
    await expect(client).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
    expect(events).toEqual([]);
    await registry.dispose();
  });

  test("ends a listing, and leaves the session to later steps", async () => {
    const controller = new AbortController();
    const { server, registry, provider } = await startRegistry({}, controller.signal);
    server.intercept(on("tools/list", () => undefined));
    const listing = registry.tools();
    await vi.waitFor(() => expect(server.log).toContain("POST tools/list"));
    controller.abort(new Error("enough"));
    await expect(listing).rejects.toThrow("enough");
    await registry.dispose();
    expect(JSON.stringify(provider.commit(registry, {}))).toContain(server.sessionIds[0]);
  });

  test("sends nothing when it is aborted already", async () => {
    const reason = new Error("enough");
    const { server, registry } = await startRegistry({}, AbortSignal.abort(reason));
    await expect(registry.tools()).rejects.toBe(reason);
    await expect(registry.client("notes")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
    });
    await registry.dispose();
    expect(server.requests).toEqual([]);
  });

  test("does not end calls: those have signals of their own", async () => {
    const controller = new AbortController();
    const { server, registry } = await startRegistry({}, controller.signal);
    const call = callForText(await registry.tools(), "notes__wait");
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    controller.abort();
    server.release();
    expect(await call).toBe("finished");
    await registry.dispose();
  });
});
