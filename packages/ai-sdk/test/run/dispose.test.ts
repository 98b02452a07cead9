import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import {
  type NotebookServer,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { alice, callForText, callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection } from "../../src/index.ts";

const notebook = ({ url }: NotebookServer, session: "stateful" | "stateless" = "stateful") =>
  defineMcpClientConnection({ url, description: "A notebook.", session });

async function startRegistry(session?: "stateful" | "stateless") {
  const server = await startNotebookServer();
  const application = startApplication({ notes: notebook(server, session) });
  const registry = application.provider.create({ principal: alice });
  return { server, registry, ...application };
}

const disposedOf = { code: "CONNECTION_UNAVAILABLE", data: { connection: "notes" } };

describe("dispose", () => {
  test("sends nothing when nothing was used", async () => {
    const { server, registry, provider } = await startRegistry();
    const session = { id: "chat-1", state: undefined };
    await registry.dispose();
    expect(server.requests).toEqual([]);
    expect(provider.commit(registry, session)).toBe(session);
  });

  test("may be called twice, and at once", async () => {
    const { server, registry } = await startRegistry();
    await registry.tools();
    const { log } = server;
    await Promise.all([registry.dispose(), registry.dispose()]);
    await registry.dispose();
    expect(server.log).toEqual(log);
  });

  test("closes the run: nothing can be used any more, and nothing is sent", async () => {
    const { server, registry } = await startRegistry();
    const tools = await registry.tools();
    const client = await registry.client("notes");
    await registry.dispose();
    server.requests.length = 0;
    await expect(registry.tools()).rejects.toMatchObject(disposedOf);
    await expect(registry.client("notes")).rejects.toMatchObject(disposedOf);
    await expect(registry.instructions()).rejects.toMatchObject(disposedOf);
    expect(() => registry.fetch("notes")).toThrow(expect.objectContaining(disposedOf));
    await expect(callTool(tools, "notes__list_notes")).rejects.toMatchObject(disposedOf);
    await expect(client.listTools()).rejects.toThrow(/closed/);
    expect(server.requests).toEqual([]);
  });

  test("waits for a handshake under way, and keeps its session", async () => {
    const { server, registry, provider, step } = await startRegistry();
    server.intercept(
      on("initialize", async () => {
        await wait(200);
        return "next" as const;
      }),
    );
    const opening = registry.client("notes");
    await registry.dispose();
    await expect(opening).resolves.toBeDefined();
    const session = provider.commit(registry, {});
    server.requests.length = 0;
    await step(session, async (next) => {
      await callTool(await next.tools(), "notes__list_notes");
    });
    expect(server.log).toEqual(["POST tools/list", "POST tools/call"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("waits for a recovery under way, and keeps the new session", async () => {
    const { server, registry, provider } = await startRegistry();
    const tools = await registry.tools();
    server.forgetSessions();
    server.intercept(
      on("initialize", async () => {
        await wait(200);
        return "next" as const;
      }),
    );
    const call = callTool(tools, "notes__list_notes");
    call.catch(() => undefined);
    await vi.waitFor(() => expect(server.log.at(-1)).toBe("POST initialize"));
    await registry.dispose();
    expect(provider.commit(registry, {})).toMatchObject({ state: { mcpSessions: {} } });
    expect(server.sessionIds).toHaveLength(2);
    await Promise.allSettled([call]);
  });

  test("ends tools() under way, without calling the connection unavailable", async () => {
    const { server, registry, events } = await startRegistry();
    server.intercept(on("tools/list", () => undefined));
    const listing = registry.tools();
    listing.catch(() => undefined);
    await vi.waitFor(() => expect(server.log).toContain("POST tools/list"));
    await registry.dispose();
    await expect(listing).rejects.toMatchObject({ name: "AbortError" });
    expect(events.map(({ type }) => type)).toEqual(["started"]);
  });

  test("leaves a running call running, and does not cancel it", async () => {
    const { server, registry, provider, step } = await startRegistry();
    const running = callTool(await registry.tools(), "notes__wait");
    running.catch(() => undefined);
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    await registry.dispose();
    await expect(running).rejects.toThrow(/closed|abort/i);
    const session = provider.commit(registry, {});

    await wait(50);
    expect(server.waits).toEqual(["started"]);
    server.release();
    await vi.waitFor(() => expect(server.waits).toEqual(["started", "finished"]));
    expect(server.log).not.toContain("POST notifications/cancelled");
    await step(session, async (next) => {
      expect(await callForText(await next.tools(), "notes__list_notes")).toBe("");
    });
    expect(server.sessionIds).toHaveLength(1);
  });

  test("ends the session of a stateless connection, as @ai-sdk/mcp does", async () => {
    const { server, registry } = await startRegistry("stateless");
    await registry.tools();
    await registry.dispose();
    expect(server.log.at(-1)).toBe("DELETE");
  });
});

test("dispose ends a session whose handshake was aborted before it was saved", async () => {
  const { server, provider } = await startRegistry();
  const controller = new AbortController();
  const registry = provider.create({ principal: alice, abortSignal: controller.signal });
  server.intercept(on("notifications/initialized", () => undefined));
  const opening = registry.client("notes");
  await vi.waitFor(() => expect(server.log).toContain("POST notifications/initialized"));
  controller.abort(new Error("left"));
  await expect(opening).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
  await registry.dispose();
  expect(server.log.at(-1)).toBe("DELETE");
  expect(provider.commit(registry, {})).toEqual({});
});
