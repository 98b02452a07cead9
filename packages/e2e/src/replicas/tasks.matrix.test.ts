import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createMemoryStore, type Principal } from "@durable-mcp/core";
import { toNodeHandler } from "@durable-mcp/server/node";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { registerTask } from "../../../sessions/test/slow-sessions.ts";
import { createWork, type Work } from "../../../sessions/test/slow-work.ts";
import { listen } from "../../../server/test/listen.ts";
import { createTaskJournal, createTasksServer } from "../../../server/test/tasks-server.ts";
import { openTestStore } from "../durable/store-place.ts";
import { availableStores } from "../faults/available-stores.ts";
import { createLab } from "../waiting/waiting-lab.ts";
import { startRoundRobin } from "../wire/round-robin.ts";
import { openReplicas, type ReplicasOnStore } from "./replicas-on-store.ts";
import { runTasks } from "./tasks-run.ts";

// No replica looks by itself in this time: what it hears comes through the store's notices.
const quiet = { leaseMs: 60_000, pollIntervalMs: 100 };

async function untilTrue(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await isTrue()).toBe(true), {
    timeout: 20_000,
    interval: 50,
  });
}

describe.each(availableStores)("tasks of SDK v1 at two replicas (%s)", (kind) => {
  let replicas: ReplicasOnStore;
  beforeAll(async () => {
    replicas = await openReplicas(kind);
  });
  afterAll(() => replicas?.close());

  type Options = Parameters<ReplicasOnStore["start"]>[0];

  /** Two replicas with a principal of their own, each request at the other one than the request before. */
  async function startTwo(createServer: NonNullable<Options>["createServer"]) {
    const id = randomUUID();
    const principal = (): Principal => ({ type: "user", issuer: "test", id });
    const options = { timeouts: quiet, principal, createServer } as Options;
    const two = await Promise.all([replicas.start(options), replicas.start(options)]);
    const servers = await Promise.all(two.map(({ handler }) => listen(toNodeHandler(handler))));
    const roundRobin = await startRoundRobin(servers.map(({ url }) => new URL(url)));
    return {
      url: roundRobin.url,
      [Symbol.asyncDispose]: async () => {
        await roundRobin.close();
        for (const server of servers) await server[Symbol.asyncDispose]();
      },
    };
  }

  test("the SDK's own interactive client is asked, and says what it got", async () => {
    const journal = createTaskJournal();
    await using server = await startTwo(({ session }) => createTasksServer(session, journal));
    const program = fileURLToPath(
      import.meta
        .resolve("@modelcontextprotocol/sdk/examples/client/simpleTaskInteractiveClient.js"),
    );
    const child = spawn(process.execPath, [program, "--url", server.url]);
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      if (chunk.includes("(y/n)")) child.stdin.write("y\n");
      printed += chunk;
    });
    await once(child, "exit");
    expect(printed).toContain("Result: Deleted 'important.txt'");
    expect(printed).toContain("Cherry blossoms fall");
    expect(printed).not.toContain("Error");
  });

  test("SDK v1's client is asked once, is answered, and cancels", async () => {
    const journal = createTaskJournal();
    await using server = await startTwo(({ session }) => createTasksServer(session, journal));
    const client = new Client(
      { name: "tasks", version: "1.0.0" },
      { capabilities: { elicitation: { form: {} } } },
    );
    const asked: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return { action: "accept" as const, content: { confirm: !params.message.includes("b.txt") } };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
    await client.listTools();

    const remove = async (filename: string) => {
      const call = { name: "confirm_delete", arguments: { filename } };
      const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, {
        task: { ttl: 60_000 },
      });
      let result: unknown;
      for await (const message of stream) if (message.type === "result") result = message.result;
      return result;
    };
    const files = ["a.txt", "b.txt", "c.txt"];
    const results = await Promise.all(files.map(remove));
    expect(results).toMatchObject(
      ["Deleted 'a.txt'", "Kept", "Deleted 'c.txt'"].map((text) => ({ content: [{ text }] })),
    );
    expect(asked.toSorted((a, b) => a.localeCompare(b))).toEqual(
      files.map((file) => `Delete ${file}?`),
    );
    expect(journal.lines).toHaveLength(3);

    journal.held.add("long");
    const call = { name: "research", arguments: { topic: "long" } };
    const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, {
      task: { ttl: 60_000 },
    });
    const { value: created } = await stream.next();
    if (created?.type !== "taskCreated") throw new Error("No task was created.");
    const { taskId } = created.task;
    await client.experimental.tasks.cancelTask(taskId);
    await untilTrue(() => journal.lines.includes("aborted long"));
    journal.held.clear();
    const { tasks } = await client.experimental.tasks.listTasks();
    expect(tasks).toHaveLength(4);
    expect(tasks.find((task) => task.taskId === taskId)).toMatchObject({ status: "cancelled" });
    await client.close();
  });

  test("our own connection waits for a task, and for its question", async () => {
    const works: Work[] = [];
    const begin = (topic: string) => {
      const work = createWork(topic);
      works.push(work);
      return work;
    };
    await using server = await startTwo(({ session }) => {
      const capabilities = { tasks: { cancel: {}, requests: { tools: { call: {} } } } };
      const mcp = new McpServer(
        { name: "slow", version: "1.0.0" },
        { ...session.tasks, capabilities },
      );
      registerTask(mcp, { begin, ttlMs: 600_000 });
      return mcp;
    });
    const store = createMemoryStore();
    /** Of a process of its own. */
    const lab = () =>
      createLab({ kind: "task of 2025-11-25", url: server.url, sessionId: "chat" }, { store });

    await lab().research();
    expect(works).toHaveLength(1);
    works[0]!.set("asking");
    await untilTrue(async () => {
      await lab().look();
      const [call] = await lab().waiting();
      return call !== undefined && Object.keys(call.requests).length > 0;
    });
    const [asking] = await lab().waiting();
    await lab().answer(asking!, "1923");
    await untilTrue(async () => {
      await setTimeout(50);
      await lab().look();
      return (await lab().waiting()).every(({ state }) => state === "settled");
    });
    expect(JSON.stringify(await lab().resume(asking!.id))).toContain("1923");
    expect(works).toHaveLength(1);
    expect(works[0]!.year).toBe("1923");
  });
});

const clean = { hung: 0, other: 0, foreign: 0, askedAgain: 0, lost: 0, doubled: 0 };

// 500 calls on each store: `npm run lab -- kill-session-tasks --store postgres`.
test.each(["kill", "drain"] as const)("tasks end as they say, at replicas that %s", async (how) => {
  const seed = Math.floor(Math.random() * 1e6);
  const store = await openTestStore("sqlite");
  try {
    const calls = 60;
    const run = await runTasks({ store: store.location, calls, seed, how });
    console.log(`${how}, seed ${seed}`, run);
    expect(run).toMatchObject({ ...clean, calls });
    expect(run.completed + run.unknown + run.broken).toBe(calls);
    expect(run.kills).toBeGreaterThan(0);
    expect(run.completed).toBeGreaterThan(how === "drain" ? calls - 1 : 0);
  } finally {
    await store.close();
  }
});
