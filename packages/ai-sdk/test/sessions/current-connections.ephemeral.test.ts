import { describe, expect, test, vi } from "vitest";
import { startRuns, textOf } from "../run.ts";
import { alice, callForText, callTool } from "../step.ts";
import { currentConnections, withConnections } from "../../src/index.ts";

async function startEphemeral() {
  const application = await startRuns();
  const { provider } = application;
  const options = { ephemeral: true, provider, principal: alice } as const;
  return { ...application, options, connections: currentConnections(options) };
}

describe("an ephemeral run", () => {
  test("opens a session for each call, and ends it", async () => {
    const { connections, cart, failures } = await startEphemeral();
    expect(cart.log).toEqual([]);
    expect(textOf(await connections.call("cart", "add_note", { text: "a" }))).toBe("1 notes");
    expect(cart.log.at(-1)).toBe("DELETE");
    expect(textOf(await connections.call("cart", "add_note", { text: "b" }))).toBe("1 notes");
    expect(cart.sessionIds).toHaveLength(2);
    expect(cart.liveSessions()).toBe(0);
    expect(failures()).toEqual([]);
  });

  test("ends it after a call that failed or was aborted, too", async () => {
    const { connections, cart } = await startEphemeral();
    expect((await connections.call("cart", "fail")).isError).toBe(true);
    expect((await connections.call("cart", "nothing")).isError).toBe(true);
    const call = connections.call("cart", "wait", {}, { abortSignal: AbortSignal.timeout(100) });
    await expect(call).rejects.toThrow(/abort/i);
    expect(cart.sessionIds).toHaveLength(3);
    expect(cart.liveSessions()).toBe(0);
  });

  test("has tools whose calls have a session each", async () => {
    const { options, servers } = await startEphemeral();
    const tools = await currentConnections(options).tools();
    expect(Object.keys(tools)).toContain("browser__add_note");
    for (const server of Object.values(servers)) expect(server.liveSessions()).toBe(0);
    const results = await Promise.all([
      callTool(tools, "cart__add_note", { text: "a" }),
      callTool(tools, "cart__add_note", { text: "b" }),
    ]);
    expect(results.map(textOf)).toEqual(["1 notes", "1 notes"]);
    expect(servers.cart.liveSessions()).toBe(0);
  });

  test("runs with one session a run, in which it is found", async () => {
    const { connections, options, cart } = await startEphemeral();
    await connections.enter(async (registry) => {
      expect(currentConnections(options)).toBe(registry);
      await registry.call("cart", "add_note", { text: "a" });
      await withConnections({}, (inner) => inner.call("cart", "add_note", { text: "b" }));
      expect(textOf(await registry.call("cart", "list_notes"))).toBe("a, b");
    });
    expect(cart.sessionIds).toHaveLength(1);
    expect(cart.liveSessions()).toBe(0);
  });

  test("runs as long as the stream that its function returns", async () => {
    const { connections, cart } = await startEphemeral();
    const stream = await connections.enter(async (registry) => {
      const tools = await registry.tools({ connections: ["cart"] });
      return new ReadableStream<string>({
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, 10));
          controller.enqueue(await callForText(tools, "cart__add_note", { text: "a" }));
          controller.close();
        },
      });
    });
    expect(await stream.getReader().read()).toMatchObject({ value: "1 notes" });
    await vi.waitFor(() => expect(cart.liveSessions()).toBe(0), { timeout: 10_000 });
  });

  test("reads instructions and waits for servers, and leaves nothing", async () => {
    const { connections, servers } = await startEphemeral();
    await connections.ready("cart", { timeoutMs: 5_000 });
    expect(await connections.instructions()).toEqual({});
    for (const server of Object.values(servers)) expect(server.liveSessions()).toBe(0);
  });

  test("has no client, no fetch and no named session, which would outlive a call", async () => {
    const { connections, servers } = await startEphemeral();
    const refused = { code: "CONNECTION_INVALID", data: { field: "ephemeral" } };
    await expect(connections.client("cart")).rejects.toMatchObject(refused);
    expect(() => connections.fetch("cart")).toThrow(expect.objectContaining(refused));
    const named = connections.enter(() => withConnections({ cart: { named: "x" } }, () => 1));
    await expect(named).rejects.toMatchObject({ data: { field: "named" } });
    for (const { log } of Object.values(servers)) expect(log).toEqual([]);
  });

  test("with a session is somebody's", async () => {
    const { provider, servers } = await startRuns();
    const make = () => currentConnections({ ephemeral: true, provider });
    expect(make).toThrow(expect.objectContaining({ code: "PRINCIPAL_REQUIRED" }));
    for (const { log } of Object.values(servers)) expect(log).toEqual([]);
  });

  test("inside of a run is the run's", async () => {
    const { options, create, cart } = await startEphemeral();
    const registry = create();
    await registry.enter(async () => {
      expect(currentConnections(options)).toBe(registry);
      await currentConnections(options).call("cart", "add_note", { text: "a" });
    });
    expect(cart.liveSessions()).toBe(1);
  });

  test("opens nothing any more after shutdown", async () => {
    const { connections, provider, cart } = await startEphemeral();
    await provider.shutdown();
    await expect(connections.call("cart", "list_notes")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
    });
    expect(cart.log).toEqual([]);
  });
});
