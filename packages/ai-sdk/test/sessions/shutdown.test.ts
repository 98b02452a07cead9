import { setTimeout as wait } from "node:timers/promises";
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test, vi } from "vitest";
import { createFaultyStore } from "@durable-mcp/testing";
import { on } from "../../../sessions/test/notebook-server.ts";
import { startRuns, textOf } from "../run.ts";
import { alice, openAndList } from "../step.ts";
import { createDurableSessions, currentConnections, withConnections } from "../../src/index.ts";

const isOver = { code: "CONNECTION_UNAVAILABLE" };
const principal = alice;
const add = (connection: string) =>
  currentConnections().call(connection, "add_note", { text: "a" });

describe("shutdown", () => {
  test("closes runs, nested runs and leases that are open, and saves what changed", async () => {
    const { provider, create, browser, cart, plain } = await startRuns();
    const store = createMemoryStore();
    const sessions = createDurableSessions({ provider, store });
    const go = Promise.withResolvers<void>();
    let saved: unknown;

    const own = create();
    const ready = [0, 1, 2].map(() => Promise.withResolvers<void>());
    const run = own.enter(
      async () => {
        await add("cart");
        await withConnections({ browser: "isolate" }, async () => {
          await add("browser");
          ready[0]!.resolve();
          await go.promise;
          await add("browser");
        });
      },
      { onClose: () => void (saved = provider.commit(own, {})) },
    );
    const step = sessions.run("chat-1", { principal }, async (all) => {
      await all.tools();
      await withConnections({ browser: "isolate" }, async () => {
        await add("browser");
        ready[1]!.resolve();
        await go.promise;
        await add("cart");
      });
    });
    const lease = await openAndList(sessions, "chat-2", { principal });
    const loose = create();
    await loose.call("plain", "list_notes");
    ready[2]!.resolve();
    for (const settled of [run, step]) settled.catch(() => undefined);
    await Promise.all(ready.map(({ promise }) => promise));

    await provider.shutdown();
    expect(plain.liveSessions()).toBe(0);
    // Those of the two leases and of nothing that was isolated, and `own`'s cart.
    expect(browser.liveSessions()).toBe(2);
    expect(cart.liveSessions()).toBe(3);
    expect(saved).toMatchObject({ state: { mcpSessions: {} } });
    expect((await store.list({ limit: 10 })).records).toHaveLength(4);
    await expect(lease.tools()).rejects.toMatchObject(isOver);
    await expect(loose.tools()).rejects.toMatchObject(isOver);

    go.resolve();
    await expect(run).rejects.toMatchObject(isOver);
    await expect(step).rejects.toMatchObject(isOver);
    await lease.dispose();
    await lease.closed;

    // The next process goes on where this one was.
    const next = await startProcessOn(store, { browser, cart, plain });
    expect(textOf(await next("chat-1"))).toBe("1 notes");
  });

  test("of nothing does nothing, may be repeated, and nothing can be opened any more", async () => {
    const { provider, create } = await startRuns();
    const sessions = createDurableSessions({ provider, store: createMemoryStore() });
    await Promise.all([provider.shutdown(), provider.shutdown()]);
    await provider.shutdown();
    expect(create).toThrow(expect.objectContaining(isOver));
    await expect(openAndList(sessions, "chat-1", { principal })).rejects.toMatchObject(isOver);
  });

  test("that comes while a lease opens lets it fail, and leaves the store alone afterwards", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const { provider } = await startRuns();
    const held = createFaultyStore(createMemoryStore());
    const sessions = createDurableSessions({ provider, store: held.store, touchIntervalMs: 1_000 });
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    held.before("get", async () => {
      asked.resolve();
      await answer.promise;
    });
    const opening = openAndList(sessions, "chat-1", { principal });
    opening.catch(() => undefined);
    await asked.promise;
    await provider.shutdown();
    answer.resolve();
    await expect(opening).rejects.toMatchObject(isOver);
    expect(vi.getTimerCount()).toBe(0);
    expect(held.log).not.toContain("put");
    vi.useRealTimers();
  });

  test("forgets what was closed: nothing is closed twice", async () => {
    const { provider, create } = await startRuns();
    const onClose = vi.fn<() => void>();
    for (let round = 0; round < 3; round += 1) {
      await create().enter(() => withConnections({ browser: "isolate" }, () => add("browser")), {
        onClose,
      });
    }
    await provider.shutdown();
    expect(onClose).toHaveBeenCalledTimes(3);
  });

  test("calls onClose once, and what that fails with the run fails with", async () => {
    const { provider, create } = await startRuns();
    const onClose = vi.fn<() => Promise<void>>(() =>
      Promise.reject(new Error("The disk is full.")),
    );
    const go = Promise.withResolvers<void>();
    const run = create().enter(() => go.promise, { onClose });
    run.catch(() => undefined);
    await provider.shutdown();
    expect(onClose).toHaveBeenCalledTimes(1);
    go.resolve();
    await expect(run).rejects.toThrow("The disk is full.");
    expect(onClose).toHaveBeenCalledTimes(1);
  });

  test("of a run that goes on by itself refuses what it runs next", async () => {
    const { provider, create } = await startRuns();
    const onClose = vi.fn<() => void>();
    const late = vi.fn<() => void>();
    const registry = create();
    const go = Promise.withResolvers<void>();
    const run = registry.enter(
      async () => {
        await go.promise;
        await registry.enter(late, { onClose: late });
      },
      { onClose },
    );
    await provider.shutdown();
    expect(onClose).toHaveBeenCalledTimes(1);
    go.resolve();
    await expect(run).rejects.toMatchObject(isOver);
    expect(onClose).toHaveBeenCalledTimes(1);
    expect(late).not.toHaveBeenCalled();
  });

  test("ends in time when a server and an onClose hang", async () => {
    const { provider, create, browser } = await startRuns();
    browser.intercept(on("DELETE", () => undefined));
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const run = create().enter(
      () =>
        withConnections({ browser: "isolate" }, async () => {
          await add("browser");
          begun.resolve();
          await go.promise;
        }),
      { onClose: () => go.promise },
    );
    await begun.promise;
    let isOverdue = false;
    const overdue = wait(9_000, undefined, { ref: false }).then(() => (isOverdue = true));
    await Promise.race([provider.shutdown({ timeoutMs: 300 }), overdue]);
    expect(isOverdue).toBe(false);
    go.resolve();
    await run;
  }, 20_000);
});

/** Another process on the store: adds a note to the cart of an agent session. */
async function startProcessOn(
  store: ReturnType<typeof createMemoryStore>,
  servers: Record<"browser" | "cart" | "plain", { readonly url: string }>,
) {
  const { createConnectionProvider, defineMcpClientConnection } =
    await import("../../src/index.ts");
  const { url } = servers.cart;
  const provider = createConnectionProvider({
    connections: {
      cart: defineMcpClientConnection({ url, description: "cart", session: "stateful" }),
    },
  });
  const sessions = createDurableSessions({ provider, store });
  return (sessionId: string) => sessions.run(sessionId, { principal }, () => add("cart"));
}
