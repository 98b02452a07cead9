import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { sendText } from "../../../core/test/http-server.ts";
import { type Interceptor, on } from "../../../sessions/test/notebook-server.ts";
import { startRuns, textOf } from "../run.ts";
import { alice, callTool } from "../step.ts";
import { currentConnections, withConnections } from "../../src/index.ts";

const isOver = { code: "CONNECTION_UNAVAILABLE" };
const initializations = (log: string[]) => log.filter((line) => line === "POST initialize").length;

const addLater = async (index: number) => {
  await wait(index % 5);
  return textOf(await currentConnections().call("cart", "add_note", { text: String(index) }));
};

describe("a run", () => {
  test("gives what its function gives, and disposes of its run", async () => {
    const { create, cart } = await startRuns();
    const registry = create();
    const text = await registry.enter(async (own) =>
      textOf(await own.call("cart", "add_note", { text: "a" })),
    );
    expect(text).toBe("1 notes");
    await expect(registry.call("cart", "list_notes")).rejects.toMatchObject(isOver);
    // A session that lasts is not ended.
    expect(cart.liveSessions()).toBe(1);
  });

  test("opens one session for 100 calls at once, all deep inside", async () => {
    const { create, cart } = await startRuns();
    const texts = await create().enter(() =>
      Promise.all(Array.from({ length: 100 }, (_, index) => addLater(index))),
    );
    expect(new Set(texts).size).toBe(100);
    expect(cart.sessionIds).toHaveLength(1);
    expect(initializations(cart.log)).toBe(1);
  });

  test("a caller that leaves takes nobody with it", async () => {
    const { create, cart } = await startRuns();
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    cart.intercept(
      on("initialize", async () => {
        asked.resolve();
        await answer.promise;
        return "next" as const;
      }),
    );
    await create().enter(async (own) => {
      const leaving = new AbortController();
      const left = own.call("cart", "list_notes", {}, { abortSignal: leaving.signal });
      const stayed = [own.call("cart", "list_notes"), own.call("cart", "list_notes")];
      await asked.promise;
      leaving.abort(new Error("I have to go."));
      await expect(left).rejects.toThrow("I have to go.");
      answer.resolve();
      await Promise.all(stayed);
    });
    expect(initializations(cart.log)).toBe(1);
    expect(cart.sessionIds).toHaveLength(1);
  });

  test("inside of itself is the same run, which the outermost ends", async () => {
    const { create } = await startRuns();
    const registry = create();
    const order: string[] = [];
    await registry.enter(
      async () => {
        const inner = await registry.enter((same) => same, {
          onClose: () => void order.push("inner closes"),
        });
        expect(inner).toBe(registry);
        await registry.call("cart", "list_notes");
        order.push("outer goes on");
      },
      { onClose: () => void order.push("outer closes") },
    );
    expect(order).toEqual(["outer goes on", "outer closes", "inner closes"]);
    await expect(registry.call("cart", "list_notes")).rejects.toMatchObject(isOver);
  });

  test("that fails closes everything, and its error comes out as it was", async () => {
    const { create, plain } = await startRuns();
    const error = new Error("The agent broke.");
    const run = create().enter(async (own) => {
      await own.call("plain", "list_notes");
      throw error;
    });
    await expect(run).rejects.toBe(error);
    expect(plain.liveSessions()).toBe(0);
  });

  test("whose signal is aborted is closed at once, whatever it still does", async () => {
    const { provider, cart, plain } = await startRuns();
    const controller = new AbortController();
    const registry = provider.create({ principal: alice, abortSignal: controller.signal });
    const started = Promise.withResolvers<void>();
    const [go, outcome] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()];
    const run = registry.enter(async (own) => {
      await own.call("plain", "list_notes");
      const waiting = own.call("cart", "wait").catch((error: unknown) => error);
      await vi.waitFor(() => expect(cart.waits).toEqual(["started"]));
      started.resolve();
      outcome.resolve(await waiting);
      await go.promise;
      return await own.call("cart", "list_notes");
    });
    run.catch(() => undefined);
    await started.promise;
    controller.abort(new Error("Enough."));
    // Before the run's function has ended.
    await vi.waitFor(() => expect(plain.liveSessions()).toBe(0));
    expect(await outcome.promise).toBeInstanceOf(Error);
    go.resolve();
    await expect(run).rejects.toMatchObject(isOver);
  });

  test("that is over says so to whatever it left behind", async () => {
    const { create, servers } = await startRuns();
    const go = Promise.withResolvers<void>();
    let left: Promise<unknown[]> | undefined;
    let tools: Awaited<ReturnType<ReturnType<typeof create>["tools"]>> | undefined;
    await create().enter(async (registry) => {
      tools = await registry.tools();
      left = go.promise.then(() =>
        Promise.allSettled([
          currentConnections().call("cart", "list_notes"),
          currentConnections().tools(),
          currentConnections().client("plain"),
          currentConnections().ready("cart", { timeoutMs: 1_000 }),
          withConnections({ cart: "isolate" }, (own) => own.call("cart", "list_notes")),
          callTool(tools!, "cart__list_notes"),
        ]),
      );
    });
    for (const server of Object.values(servers)) server.requests.length = 0;
    go.resolve();
    for (const outcome of (await left)!) expect(outcome).toMatchObject({ status: "rejected" });
    expect((await left)!.slice(0, 5)).toMatchObject(
      Array.from({ length: 5 }, () => ({ reason: isOver })),
    );
    expect(Object.values(servers).flatMap(({ log }) => log)).toEqual([]);
  });
});

describe("onClose", () => {
  test("is called once, when all is closed, and what it fails with the run fails with", async () => {
    const { create, plain } = await startRuns();
    const error = new Error("The disk is full.");
    const seen: number[] = [];
    const run = create().enter((own) => own.call("plain", "list_notes"), {
      onClose() {
        seen.push(plain.liveSessions());
        throw error;
      },
    });
    await expect(run).rejects.toBe(error);
    expect(seen).toEqual([0]);
  });

  test("of a run that failed is called, and does not hide the run's error", async () => {
    const { create, failures } = await startRuns();
    const onClose = vi.fn<() => Promise<void>>(() =>
      Promise.reject(new Error("The disk is full.")),
    );
    const run = create().enter(
      async (own) => {
        await own.call("cart", "list_notes");
        throw new Error("The agent broke.");
      },
      { onClose },
    );
    await expect(run).rejects.toThrow("The agent broke.");
    expect(onClose).toHaveBeenCalledTimes(1);
    expect(failures()).toEqual([
      { type: "close-failed", connection: "cart", reason: "not-committed" },
    ]);
  });

  test("of each of several runs at once is called, whatever another's does", async () => {
    const { create } = await startRuns();
    const registry = create();
    const calls: string[] = [];
    const runs = ["a", "b", "c"].map((name) =>
      registry.enter(() => wait(1), {
        onClose() {
          calls.push(name);
          if (name !== "c") throw new Error(`${name} cannot save.`);
        },
      }),
    );
    const outcomes = await Promise.allSettled(runs);
    expect(calls).toEqual(["a", "b", "c"]);
    // The last to end waits for all; the first failure is its.
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect(outcomes[2]).toMatchObject({ reason: { message: "a cannot save." } });
  });
});

describe("closing", () => {
  test("goes in the reverse order of the first uses", async () => {
    for (const order of [
      ["browser", "cart", "plain"],
      ["plain", "browser", "cart"],
    ] as const) {
      const { create, servers } = await startRuns({ session: "stateless" });
      const closed: string[] = [];
      for (const [name, server] of Object.entries(servers)) {
        server.intercept(
          on("DELETE", async () => {
            closed.push(`${name} closing`);
            await wait(20);
            closed.push(`${name} closed`);
            return "next" as const;
          }),
        );
      }
      await create().enter(async (own) => {
        for (const name of order) await own.call(name, "list_notes");
      });
      const expected = order.toReversed().flatMap((name) => [`${name} closing`, `${name} closed`]);
      expect(closed).toEqual(expected);
    }
  });

  test("begins with the runs inside, which use what is closed next", async () => {
    const { create, browser, plain } = await startRuns();
    const closed: string[] = [];
    for (const [name, server] of Object.entries({ browser, plain })) {
      server.intercept(
        on("DELETE", () => {
          closed.push(name);
          return "next" as const;
        }),
      );
    }
    const go = Promise.withResolvers<void>();
    let left: Promise<unknown> | undefined;
    await create().enter(async () => {
      const begun = Promise.withResolvers<void>();
      left = withConnections({ browser: "isolate" }, async (own) => {
        await own.call("browser", "list_notes");
        // Inherited, and the one that was used last.
        await own.call("plain", "list_notes");
        begun.resolve();
        await go.promise;
      });
      await begun.promise;
    });
    expect(closed).toEqual(["browser", "plain"]);
    go.resolve();
    await left;
  });

  test("that hangs is reported once, keeps nobody else from closing, and ends", async () => {
    const { create, browser, cart, failures } = await startRuns();
    browser.intercept(on("DELETE", () => undefined));
    const run = create().enter(async () => {
      await withConnections({ browser: "isolate", cart: "isolate" }, async (own) => {
        await own.call("cart", "list_notes");
        await own.call("browser", "list_notes");
      });
      return "done";
    });
    await vi.waitFor(() => expect(cart.liveSessions()).toBe(0), { timeout: 4_000 });
    expect(await run).toBe("done");
    expect(failures()).toEqual([
      { type: "close-failed", connection: "browser", reason: "timeout" },
    ]);
  }, 15_000);

  test.each<[string, Interceptor, object]>([
    ["refused", (_, response) => sendText(response, 500), { reason: "refused", status: 500 }],
    ["of a server that is gone", ({ raw }) => void raw.socket.destroy(), { reason: "unreachable" }],
  ])("that is %s is reported, and does not hide the run's error", async (_, answer, told) => {
    const { create, browser, failures } = await startRuns();
    browser.intercept(on("DELETE", answer));
    const run = create().enter(() =>
      withConnections({ browser: "isolate" }, async (own) => {
        await own.call("browser", "list_notes");
        throw new Error("The agent broke.");
      }),
    );
    await expect(run).rejects.toThrow("The agent broke.");
    expect(failures()).toEqual([{ type: "close-failed", connection: "browser", ...told }]);
  });

  test("waits for the session that a nested run has just begun, and ends it", async () => {
    const { create, browser } = await startRuns();
    const begun = Promise.withResolvers<void>();
    browser.intercept(
      on("initialize", async () => {
        begun.resolve();
        await wait(50);
        return "next" as const;
      }),
    );
    let left: Promise<unknown> | undefined;
    await create().enter(async () => {
      left = withConnections({ browser: "isolate" }, (own) => own.call("browser", "list_notes"));
      left.catch(() => undefined);
      await begun.promise;
    });
    await left!.catch(() => undefined);
    expect(browser.sessionIds).toHaveLength(1);
    expect(browser.liveSessions()).toBe(0);
  });
});
