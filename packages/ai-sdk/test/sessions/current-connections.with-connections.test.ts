import { setTimeout as wait } from "node:timers/promises";
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test, vi } from "vitest";
import { on } from "../../../sessions/test/notebook-server.ts";
import { startRuns, textOf } from "../run.ts";
import { alice, bob } from "../step.ts";
import { createDurableSessions, currentConnections, withConnections } from "../../src/index.ts";
import type { ConnectionMode } from "../../../sessions/src/run/run-scope.ts";

const isOver = { code: "CONNECTION_UNAVAILABLE" };
const add = async (connection: string, text: string) =>
  textOf(await currentConnections().call(connection, "add_note", { text }));
const list = async (connection: string) =>
  textOf(await currentConnections().call(connection, "list_notes"));

describe("a nested run", () => {
  test("finds its own run, and the one around goes on as before", async () => {
    const { create } = await startRuns();
    await create().enter(async (outer) => {
      expect(await withConnections({}, (inner) => [inner, currentConnections()])).not.toContain(
        outer,
      );
      await withConnections({}, (inner) => expect(currentConnections()).toBe(inner));
      expect(currentConnections()).toBe(outer);
    });
  });

  test("inherits client and session, opened by whoever needs it first, and does not close it", async () => {
    const { create, cart } = await startRuns();
    await create().enter(async (outer) => {
      const client = await withConnections({ cart: "inherit" }, async (inner) => {
        await add("cart", "a");
        return await inner.client("cart");
      });
      expect(await outer.client("cart")).toBe(client);
      await add("cart", "b");
      await withConnections({}, async () => expect(await list("cart")).toBe("a, b"));
      // Nothing given is nothing asked for.
      await withConnections({ cart: undefined }, async () =>
        expect(await list("cart")).toBe("a, b"),
      );
    });
    expect(cart.sessionIds).toHaveLength(1);
    expect(cart.liveSessions()).toBe(1);
  });

  test("has a session of its own that ends with it", async () => {
    const { create, browser } = await startRuns();
    await create().enter(async () => {
      await add("browser", "outer");
      await withConnections({ browser: "isolate" }, async () => {
        expect(await list("browser")).toBe("");
        await add("browser", "inner");
        expect(browser.liveSessions()).toBe(2);
      });
      expect(browser.liveSessions()).toBe(1);
      expect(await list("browser")).toBe("outer");
    });
    expect(browser.log.filter((line) => line === "DELETE")).toHaveLength(1);
  });

  test("that uses nothing opens nothing and ends nothing", async () => {
    const { create, servers } = await startRuns();
    await create().enter(() =>
      withConnections({ browser: "isolate", cart: "isolate" }, () => wait(1)),
    );
    for (const { log } of Object.values(servers)) expect(log).toEqual([]);
  });

  test("has a client of its own of what has no session", async () => {
    const { create, plain } = await startRuns();
    await create().enter(async (outer) => {
      const client = await outer.client("plain");
      await withConnections({ plain: "isolate" }, async (inner) => {
        expect(await inner.client("plain")).not.toBe(client);
      });
      expect(plain.liveSessions()).toBe(1);
      await client.listTools();
    });
  });

  test("saves nothing of an isolated session", async () => {
    const { create, provider } = await startRuns();
    const registry = create();
    await registry.enter(() => withConnections({ browser: "isolate" }, () => add("browser", "a")));
    expect(provider.commit(registry, {})).toEqual({});
  });
});

/** A sub-agent with a browser of its own. */
const agent = async (name: string) =>
  await withConnections({ browser: "isolate" }, async () => {
    await add("browser", `page of ${name}`);
    await wait(5);
    await add("cart", `item of ${name}`);
    return await list("browser");
  });

test("two sub-agents at once have a browser each and share a cart", async () => {
  const { create, browser, cart } = await startRuns();
  await create().enter(async () => {
    expect(await Promise.all([agent("ann"), agent("ben")])).toEqual(["page of ann", "page of ben"]);
    expect((await list("cart")).split(", ").toSorted()).toEqual(["item of ann", "item of ben"]);
  });
  expect(browser.sessionIds).toHaveLength(2);
  expect(browser.liveSessions()).toBe(0);
  expect(cart.sessionIds).toHaveLength(1);
});

describe("a named session", () => {
  test("is not for what is not stateful", async () => {
    const { create, plain } = await startRuns();
    const run = create().enter(() =>
      withConnections({ plain: { named: "x" } }, () => list("plain")),
    );
    await expect(run).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
      data: { field: "connections.plain" },
    });
    expect(plain.log).toEqual([]);
  });
});

describe("three deep", () => {
  const modes = { browser: "isolate" } as const;
  const depths = [1, 2, 3] as const;

  /** Nests three deep, with a browser and a note at each level, then says so. */
  const nest = async (depth: number, at: (depth: number) => Promise<void>): Promise<string[]> => {
    await add("browser", `level ${depth}`);
    const seen = await list("browser");
    const below = depth === 3 ? [] : await withConnections(modes, () => nest(depth + 1, at));
    await at(depth);
    return [seen, ...below];
  };

  test("each level has its own session, and they end from the inside out", async () => {
    const { create, browser } = await startRuns();
    const live: number[] = [];
    const seen = await create().enter(() =>
      withConnections(modes, () => nest(1, async () => void live.push(browser.liveSessions()))),
    );
    expect(seen).toEqual(["level 1", "level 2", "level 3"]);
    expect(live).toEqual([3, 2, 1]);
    expect(browser.liveSessions()).toBe(0);
  });

  test.each(depths)("an error at level %i ends all below and around it", async (broken) => {
    const { create, browser, cart } = await startRuns();
    const error = new Error("The agent broke.");
    const registry = create();
    const run = registry.enter(async () => {
      await add("cart", "a");
      await withConnections(modes, () =>
        nest(1, async (depth) => {
          if (depth === broken) throw error;
        }),
      );
    });
    await expect(run).rejects.toBe(error);
    expect(browser.sessionIds).toHaveLength(3);
    expect(browser.liveSessions()).toBe(0);
    expect(cart.liveSessions()).toBe(1);
    await expect(registry.tools()).rejects.toMatchObject(isOver);
  });

  test.each(depths)(
    "an abort at level %i closes it and what is below, not what is around",
    async (aborted) => {
      const { create, browser } = await startRuns();
      const controllers = depths.map(() => new AbortController());
      const deep = Promise.withResolvers<void>();
      const go = Promise.withResolvers<void>();
      const level = async (depth: number): Promise<void> =>
        await withConnections(
          modes,
          async () => {
            await add("browser", `level ${depth}`);
            if (depth < 3) {
              // Whoever waits for what is below sees it fail, and goes on.
              await level(depth + 1).catch(() => undefined);
            } else {
              deep.resolve();
              await go.promise;
            }
            await add("browser", "goes on");
          },
          { abortSignal: controllers[depth - 1]!.signal },
        );
      await create().enter(async () => {
        const all = level(1);
        all.catch(() => undefined);
        await deep.promise;
        expect(browser.liveSessions()).toBe(3);
        controllers[aborted - 1]!.abort(new Error("Enough."));
        // Before their functions have come to an end.
        await vi.waitFor(() => expect(browser.liveSessions()).toBe(aborted - 1));
        go.resolve();
        const outcome = await all.then(
          () => "done",
          (error: { code: string }) => error.code,
        );
        expect(outcome).toBe(aborted === 1 ? isOver.code : "done");
      });
      expect(browser.liveSessions()).toBe(0);
    },
  );

  test("an abort of the step closes all levels", async () => {
    const { provider, browser } = await startRuns();
    const controller = new AbortController();
    const run = provider.create({ principal: alice, abortSignal: controller.signal }).enter(() =>
      withConnections(modes, () =>
        nest(1, async (depth) => {
          if (depth < 3) return;
          controller.abort(new Error("Enough."));
          await vi.waitFor(() => expect(browser.liveSessions()).toBe(0));
        }),
      ),
    );
    await run.catch(() => undefined);
    expect(browser.sessionIds).toHaveLength(3);
    expect(browser.liveSessions()).toBe(0);
  });
});

describe("a nested run that nobody waits for", () => {
  test("is closed with the run around it, and says so at its next use", async () => {
    const { create, browser, cart } = await startRuns();
    const go = Promise.withResolvers<void>();
    let left: Promise<unknown> | undefined;
    await create().enter(async () => {
      const begun = Promise.withResolvers<void>();
      left = withConnections({ browser: "isolate" }, async () => {
        await add("browser", "a");
        begun.resolve();
        await go.promise;
        return await Promise.allSettled([list("browser"), list("cart")]);
      });
      await begun.promise;
    });
    expect(browser.liveSessions()).toBe(0);
    go.resolve();
    expect(await left).toMatchObject([{ reason: isOver }, { reason: isOver }]);
    expect(cart.log).toEqual([]);
  });

  test("is closed, too, when it has used nothing before the run around is over", async () => {
    const { create, servers } = await startRuns();
    const go = Promise.withResolvers<void>();
    let left: Promise<unknown> | undefined;
    await create().enter(async () => {
      left = withConnections({ browser: "isolate" }, async (own) => {
        await go.promise;
        return await Promise.allSettled([
          list("browser"),
          list("cart"),
          Promise.resolve().then(() => own.fetch("cart")),
          own.client("plain"),
          withConnections({}, () => 1),
        ]);
      });
      await wait(1);
    });
    go.resolve();
    const outcomes = (await left) as PromiseSettledResult<unknown>[];
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: isOver });
    for (const { log } of Object.values(servers)) expect(log).toEqual([]);
  });

  test("does not begin when the run around ends while its named session is loaded", async () => {
    const { provider, servers } = await startRuns();
    const inner = createMemoryStore();
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isSlow = false;
    const store = {
      ...inner,
      async get(key: string) {
        if (isSlow) {
          asked.resolve();
          await answer.promise;
        }
        return await inner.get(key);
      },
    };
    const sessions = createDurableSessions({ provider, store });
    let left: Promise<unknown> | undefined;
    const use = vi.fn<() => void>();
    await sessions.run("chat-1", { principal: alice }, async () => {
      isSlow = true;
      left = withConnections({ browser: { named: "late" } }, use);
      left.catch(() => undefined);
      await asked.promise;
    });
    for (const server of Object.values(servers)) server.requests.length = 0;
    answer.resolve();
    await expect(left).rejects.toMatchObject(isOver);
    expect(use).not.toHaveBeenCalled();
    for (const { log } of Object.values(servers)) expect(log).toEqual([]);
  });
});

describe("withConnections refuses", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["a connection that is not declared", { nothing: "isolate" }, "connections.nothing"],
    ["one by the name of a method of objects", { toString: "isolate" }, "connections.toString"],
    ["an unknown mode", { cart: "share" }, "connections.cart"],
    ["a null mode", { cart: null }, "connections.cart"],
    ["a name that is none", { cart: { named: 7 } }, "connections.cart.named"],
    ["an empty name", { cart: { named: "" } }, "connections.cart.named"],
    ["an endless name", { cart: { named: "x".repeat(257) } }, "connections.cart.named"],
  ])("%s", async (_, modes, field) => {
    const { create } = await startRuns();
    const use = vi.fn<() => void>();
    const run = create().enter(() => withConnections(modes as Record<string, ConnectionMode>, use));
    await expect(run).rejects.toMatchObject({ code: "CONNECTION_INVALID", data: { field } });
    expect(use).not.toHaveBeenCalled();
  });

  test("to inherit under another principal, and what is not said is inherited", async () => {
    const { create, cart } = await startRuns();
    const use = vi.fn<() => void>();
    for (const modes of [{}, { browser: "isolate", cart: "inherit", plain: "isolate" }] as const) {
      const run = create().enter(async () => {
        await add("cart", "alice's");
        await withConnections(modes, use, { principal: bob });
      });
      await expect(run).rejects.toMatchObject({ code: "CONNECTION_INVALID" });
    }
    expect(use).not.toHaveBeenCalled();
    expect(cart.sessionIds).toHaveLength(2);
  });

  test("nothing of one's own under another principal, nor of the same one", async () => {
    const { create, cart } = await startRuns();
    await create().enter(async () => {
      await add("cart", "alice's");
      const own = { browser: "isolate", cart: "isolate", plain: "isolate" } as const;
      await withConnections(own, async () => expect(await list("cart")).toBe(""), {
        principal: bob,
      });
      const same = { ...alice };
      await withConnections({}, async () => expect(await list("cart")).toBe("alice's"), {
        principal: same,
      });
    });
    expect(cart.liveSessions()).toBe(1);
  });

  test("to begin with a signal that is aborted, before or while it begins", async () => {
    const { create } = await startRuns();
    const use = vi.fn<() => void>();
    await create().enter(async () => {
      const abortSignal = AbortSignal.abort(new Error("Too late."));
      await expect(withConnections({}, use, { abortSignal })).rejects.toThrow("Too late.");
      const controller = new AbortController();
      const nested = withConnections({ cart: "isolate" }, use, { abortSignal: controller.signal });
      controller.abort(new Error("Just now."));
      await expect(nested).rejects.toThrow("Just now.");
    });
    expect(use).not.toHaveBeenCalled();
  });
});

test("an abort of a nested run leaves a shared connection that opens to the others", async () => {
  const { create, cart } = await startRuns();
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  cart.intercept(
    on("initialize", async () => {
      asked.resolve();
      await answer.promise;
      return "next" as const;
    }),
  );
  const controller = new AbortController();
  await create().enter(async (outer) => {
    const leaving = withConnections({}, (own) => own.client("cart"), {
      abortSignal: controller.signal,
    });
    const listing = withConnections({}, (own) => own.tools(), { abortSignal: controller.signal });
    await asked.promise;
    const staying = outer.call("cart", "list_notes");
    controller.abort(new Error("Enough."));
    await expect(leaving).rejects.toThrow("Enough.");
    await expect(listing).rejects.toThrow("Enough.");
    answer.resolve();
    await staying;
  });
  expect(cart.sessionIds).toHaveLength(1);
});
