import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { createDrivenStore } from "@durable-mcp/core/store-driver";
import { describe, expect, test } from "vitest";
import { createMapDriver } from "../../../core/test/map-driver.ts";
import { type ProcessOptions, startProcess } from "../durable-process.ts";
import { createFaultyStore } from "@durable-mcp/testing";
import {
  type NotebookServerOptions,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { alice } from "../step.ts";
import {
  type ConnectionRun,
  createDurableSessions,
  defineMcpClientConnection,
  type DurableSessions,
} from "../../src/index.ts";

const use = { principal: alice };
const touchIntervalMs = 60_000;
const hour = 3_600_000;

type Operations = readonly (keyof SessionStore)[];
type Work = (registry: ConnectionRun<any>) => unknown;

const callOne: Work = (registry) => registry.call("notes", "list_notes");
const listAll: Work = (registry) => registry.tools();
const inNamed: Work = ({ named }) => named.run("a", callOne);

/** An agent on a store that counts. Each step is a process of its own, and says what it asked of the store. */
function startAgent(
  open: (store: SessionStore, now: () => number) => DurableSessions<any>,
  inner?: SessionStore,
) {
  let time = Date.now();
  const now = () => time;
  const { store, log } = createFaultyStore(inner ?? createMemoryStore({ now }));
  return {
    store,
    now,
    pass: (ms: number) => void (time += ms),
    step: async (work: Work = callOne, sessionId = "chat"): Promise<Operations> => {
      const sessions = open(store, now);
      log.length = 0;
      await sessions.run(sessionId, use, (run) => work(run));
      // What runs beside the step is over then.
      await sessions.shutdown();
      return [...log];
    },
  };
}

async function startChat(options: ProcessOptions = {}, serverOptions: NotebookServerOptions = {}) {
  const server = await startNotebookServer(serverOptions);
  const open = (store: SessionStore, now: () => number) =>
    startProcess(server, store, { now, ...options }).sessions;
  return { server, ...startAgent(open), startAnother: open };
}

describe("a step asks the store", () => {
  test("for one read and one write when it is new, and for one read when it is resumed", async () => {
    const { step } = await startChat();
    expect(await step()).toEqual(["get", "put"]);
    for (let steps = 0; steps < 3; steps += 1) expect(await step()).toEqual(["get"]);
  });

  test("for as much with each connection, all at once", async () => {
    const { url } = await startNotebookServer();
    const open = (store: SessionStore, now: () => number) => {
      const definition = defineMcpClientConnection({
        url,
        description: "A notebook.",
        session: "stateful",
      });
      const connections = { notes: definition, cart: definition, mail: definition };
      return createDurableSessions({ connections, store, now });
    };
    const { step } = startAgent(open);
    expect(await step(listAll)).toEqual(["get", "get", "get", "put", "put", "put"]);
    expect(await step(listAll)).toEqual(["get", "get", "get"]);
    // Where the store can, it reads once.
    const { step: reading } = startAgent(open, createDrivenStore(createMapDriver()));
    expect(await reading(listAll)).toEqual(["getMany", "put", "put", "put"]);
    expect(await reading(listAll)).toEqual(["getMany"]);
  });

  test("for its mark of use now and then", async () => {
    const { step, pass } = await startChat();
    await step();
    pass(touchIntervalMs - 1);
    expect(await step()).toEqual(["get"]);
    pass(1);
    expect(await step()).toEqual(["get", "put"]);
    expect(await step()).toEqual(["get"]);
  });

  test("for one read and one write more when the session is lost: another process may have made the next one", async () => {
    const { step, server } = await startChat();
    await step();
    server.forgetSessions();
    expect(await step()).toEqual(["get", "get", "put"]);
    expect(await step()).toEqual(["get"]);
  });

  test("for nothing more because there are named sessions", async () => {
    const { step } = await startChat();
    await step();
    await step(({ named }) => named.create("a", { idleTimeoutMs: hour }));
    expect(await step()).toEqual(["get"]);
    expect(await step(inNamed)).toEqual(["get", "list", "get"]);
  });

  test("for as much with a stateless connection that remembers its server", async () => {
    const connection = { session: "stateless", memory: { pinMs: hour } } as const;
    const { step, pass } = await startChat({ connection }, { isSessionless: true });
    expect(await step()).toEqual(["get", "put"]);
    expect(await step()).toEqual(["get"]);
    pass(touchIntervalMs);
    expect(await step()).toEqual(["get", "put"]);
    // It gives sessions, so that nothing is remembered.
    const { step: without } = await startChat({ connection });
    expect(await without()).toEqual(["get"]);
    expect(await without()).toEqual(["get"]);
  });

  test("for twice as much with a session that agent sessions share: that, and what this one has seen", async () => {
    const { step, pass } = await startChat({ session: { shared: "team" } });
    expect(await step()).toEqual(["get", "get", "put", "put"]);
    expect(await step()).toEqual(["get", "get"]);
    expect(await step(callOne, "other")).toEqual(["get", "get", "put"]);
    expect(await step(callOne, "other")).toEqual(["get", "get"]);
    pass(touchIntervalMs);
    expect(await step()).toEqual(["get", "get", "put", "put"]);
    expect(await step(callOne, "other")).toEqual(["get", "get", "put"]);
    expect(await step()).toEqual(["get", "get"]);
  });
});
