import { createMemoryStore } from "@durable-mcp/core";
import { onTestFinished, describe, expect, test, vi } from "vitest";
import { collectEvents, type ClientEvent } from "../collect-events.ts";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import { alice, bob, callTool } from "../step.ts";
import {
  type ConnectionEvent,
  type ConnectionPoolOptions,
  createConnectionProvider,
  createDurableSessions,
  currentConnections,
  type DurableSessionsOptions,
  type EventStep,
  withConnections,
} from "../../src/index.ts";
import { defineMcpStdioConnection, type McpStdioConnectionOptions } from "../../src/stdio.ts";

const describeIt = () => currentConnections().call("program", "describe");
const define = (options: Partial<McpStdioConnectionOptions> = {}) =>
  defineMcpStdioConnection({ ...describingProgram(), description: "A program.", ...options });

const argsOf = (result: any) => JSON.parse(result.content[0].text).args as string[];

/** An application with one stdio server, whose processes a pool keeps. */
function startPooled(
  pool: ConnectionPoolOptions = {},
  declare: () => ReturnType<typeof define> = define,
) {
  const { onEvent, clientEvents } = collectEvents();
  const told: { event: ConnectionEvent; step: EventStep | undefined }[] = [];
  const provider = createConnectionProvider({
    connections: () => ({ program: declare() }),
    pool,
    onEvent: {
      every(event, step) {
        onEvent.every(event);
        told.push({ event, step });
      },
    },
  });
  onTestFinished(() => provider.shutdown());
  const store = createMemoryStore();
  const sessions = createDurableSessions({ provider, store });
  const sessionsOf = (options: Partial<DurableSessionsOptions<any>>) =>
    createDurableSessions({ provider, store, ...(options as object) });
  return {
    provider,
    sessions,
    sessionsOf,
    told,
    /** What happened to the processes since the last look. */
    takePool: () => clientEvents.splice(0).map(actionOf),
    run: async (chat: string, principal = alice, of = sessions) =>
      await of.run(chat, { principal }, describeIt),
  };
}

function actionOf(event: ClientEvent): string {
  return event.action === "closed" ? `closed: ${event.reason}` : event.action;
}

describe("a pool", () => {
  test("keeps a process between the runs of one agent session, and tells of it", async () => {
    const { run, sessions, takePool } = startPooled();
    await run("chat");
    expect(takePool()).toEqual(["miss", "opened"]);
    await run("chat");
    expect(takePool()).toEqual(["hit"]);
    await sessions.run("chat", { principal: alice }, async () => {
      await describeIt();
      await withConnections({}, describeIt);
    });
    expect(takePool()).toEqual(["hit", "hit"]);
  });

  test("shares no process between agent sessions, principals, agents and stores", async () => {
    const { run, sessionsOf, takePool } = startPooled();
    const others = [sessionsOf({ store: createMemoryStore() }), sessionsOf({ agent: "other" })];
    await run("chat");
    await run("other chat");
    await run("chat", bob);
    for (const of of others) await run("chat", alice, of);
    expect(takePool()).toEqual(Array.from({ length: 5 }, () => ["miss", "opened"]).flat());
  });

  test("has one process for the runs of an agent session that overlap", async () => {
    const { sessions, run, takePool } = startPooled();
    await sessions.run("chat", { principal: alice }, async () => {
      await describeIt();
      await run("chat");
      expect(takePool()).toEqual(["miss", "opened", "hit"]);
      await describeIt();
    });
    await run("chat");
    expect(takePool()).toEqual(["hit"]);
  });

  test("is used by plain state under the agent session's id", async () => {
    const { provider, takePool } = startPooled();
    for (const sessionId of ["chat", "chat", undefined]) {
      const registry = provider.create({ sessionId });
      await registry.call("program", "describe");
      await registry.dispose();
    }
    const own = ["miss", "opened", "closed: run-over"];
    expect(takePool()).toEqual(["miss", "opened", "hit", ...own]);
  });

  test("starts nothing for a run that does not use it, and goes on afterwards", async () => {
    const { provider, takePool } = startPooled();
    const step = async (isUsed: boolean) => {
      const registry = provider.create({ sessionId: "chat" });
      if (isUsed) await registry.call("program", "describe");
      await registry.dispose();
    };
    await step(false);
    expect(takePool()).toEqual([]);
    await step(true);
    await step(false);
    await step(true);
    expect(takePool()).toEqual(["miss", "opened", "hit"]);
  });

  test("does not keep a process that is declared anew", async () => {
    let args = ["a"];
    const { run, takePool } = startPooled({}, () => {
      const program = describingProgram(...args);
      return define({ ...program, env: { DESCRIBED: () => "x" }, timeouts: { closeMs: 200 } });
    });
    await run("chat");
    await run("chat");
    expect(takePool()).toEqual(["miss", "opened", "hit"]);
    args = ["b"];
    expect(argsOf(await run("chat"))).toEqual(["b"]);
    expect(takePool()).toEqual(["miss", "closed: stale", "opened"]);
  });

  test("leaves an earlier declaration to the run that has it", async () => {
    let args = ["a"];
    const { sessions, run, takePool } = startPooled({}, () => define(describingProgram(...args)));
    await sessions.run("chat", { principal: alice }, async () => {
      await describeIt();
      args = ["b"];
      expect(argsOf(await run("chat"))).toEqual(["b"]);
      expect(argsOf(await describeIt())).toEqual(["a"]);
    });
    expect(takePool()).toEqual(["miss", "opened", "miss", "opened", "closed: stale"]);
  });

  test("is of no use to the tools of an earlier run", async () => {
    const { sessions, run } = startPooled();
    const tools = await sessions.run("chat", { principal: alice }, (step) => step.tools());
    await run("chat");
    await expect(callTool(tools, "program__describe")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { connection: "program" },
    });
  });

  test("keeps max processes, and gives up the one that was used longest ago", async () => {
    const { run, takePool } = startPooled({ max: 2 });
    for (const chat of ["a", "b", "a", "c"]) await run(chat);
    await vi.waitFor(() => expect(takePool()).toContain("closed: max"), 10_000);
    await run("a");
    expect(takePool()).toEqual(["hit"]);
    await run("b");
    expect(takePool()).toContain("miss");
  });

  test("closes what was idle for keepAliveMs", async () => {
    const { run, takePool } = startPooled({ keepAliveMs: 20 });
    await run("chat");
    const actions: string[] = [];
    await vi.waitFor(() => {
      actions.push(...takePool());
      expect(actions).toEqual(["miss", "opened", "closed: idle"]);
    }, 10_000);
    await run("chat");
    expect(takePool()).toEqual(["miss", "opened"]);
  });

  test("keeps no process with reuse: false", async () => {
    const { run, takePool } = startPooled({}, () => define({ reuse: false }));
    await run("chat");
    await run("chat");
    const own = ["miss", "opened", "closed: run-over"];
    expect(takePool()).toEqual([...own, ...own]);
  });

  test("is closed by shutdown of the provider, outside of any step", async () => {
    const { provider, run, takePool, told } = startPooled();
    await run("chat");
    takePool();
    expect(new Set(told.map(({ step }) => step?.sessionId))).toEqual(new Set(["chat"]));
    told.length = 0;
    await provider.shutdown();
    expect(takePool()).toEqual(["closed: shutdown"]);
    expect(told.map(({ step }) => step)).toEqual([undefined]);
    await expect(run("chat")).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
  });

  test("tells each run's events in the step of that run", async () => {
    const { run, told } = startPooled();
    await run("chat");
    const first = told.splice(0);
    await run("chat");
    const stepsOf = (of: typeof told) => new Set(of.map(({ step }) => step?.id));
    expect(stepsOf(first).size).toBe(1);
    expect(stepsOf(told).size).toBe(1);
    expect(stepsOf(told)).not.toEqual(stepsOf(first));
  });

  test.each([{ max: -1 }, { keepAliveMs: 1.5 }])("is refused with %j", (pool) => {
    const field = `pool.${Object.keys(pool)[0]}`;
    expect(() => startPooled(pool)).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } }),
    );
  });
});
