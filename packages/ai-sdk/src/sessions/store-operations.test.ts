import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { type ProcessOptions, startProcess } from "../../test/durable-process.ts";
import { createHeldStore } from "../../test/held-store.ts";
import { type NotebookServerOptions, on, startNotebookServer } from "../../test/notebook-server.ts";
import { alice, outdateTools } from "../../test/step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../index.ts";
import type { ConnectionRun } from "../run/connection-run.ts";
import type { DurableSessions } from "./durable-sessions.ts";

const use = { principal: alice };
const touchIntervalMs = 60_000;
const hour = 3_600_000;

type Operations = readonly (keyof SessionStore)[];
type Work = (registry: ConnectionRun<any>) => unknown;

const callOne: Work = (registry) => registry.call("notes", "list_notes");
const callNone: Work = () => undefined;
const inNamed: Work = ({ named }) => named.run("a", callOne);

/** An agent on a store that counts. Each step is a process of its own, and says what it asked of the store. */
function startAgent(open: (store: SessionStore, now: () => number) => DurableSessions<any>) {
  let time = Date.now();
  const now = () => time;
  const { store, log } = createHeldStore(createMemoryStore({ now }));
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
    const { step } = startAgent((store, now) => {
      const definition = defineMcpClientConnection({
        url,
        description: "A notebook.",
        session: "stateful",
      });
      const connections = { notes: definition, cart: definition, mail: definition };
      return createDurableSessions({ connections, store, now });
    });
    expect(await step()).toEqual(["get", "get", "get", "put", "put", "put"]);
    expect(await step()).toEqual(["get", "get", "get"]);
  });

  test("for its mark of use now and then, and then for idle named sessions too", async () => {
    const { step, pass } = await startChat();
    await step();
    pass(touchIntervalMs - 1);
    expect(await step()).toEqual(["get"]);
    pass(1);
    expect(await step()).toEqual(["get", "put", "list"]);
    expect(await step()).toEqual(["get"]);
  });

  test("for its mark of use although it writes something else in each step", async () => {
    const { step, pass } = await startChat();
    const steps: Operations[] = [];
    for (let time = 0; time <= touchIntervalMs; time += touchIntervalMs / 2) {
      steps.push(await step(outdateTools));
      pass(touchIntervalMs / 2);
    }
    expect(steps[0]).toEqual(["get", "put", "put"]);
    expect(steps[1]).not.toContain("list");
    expect(steps[2]).toEqual(expect.arrayContaining(["list"]));
  });

  test("for one write when the session is lost", async () => {
    const { step, server } = await startChat();
    await step();
    server.forgetSessions();
    expect(await step()).toEqual(["get", "put"]);
    expect(await step()).toEqual(["get"]);
  });

  test("for nothing more because there are named sessions", async () => {
    const { step } = await startChat();
    await step();
    await step(({ named }) => named.create("a", { idleTimeoutMs: hour }));
    expect(await step()).toEqual(["get"]);
    expect(await step(inNamed)).toEqual(["get", "list", "list", "get"]);
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

  test("for as much with a session that agent sessions share", async () => {
    const { step, pass } = await startChat({ session: { shared: "team" } });
    expect(await step()).toEqual(["get", "put"]);
    expect(await step()).toEqual(["get"]);
    // It notes that this agent session knows the session now.
    expect(await step(callOne, "other")).toEqual(["get", "put", "list"]);
    expect(await step(callOne, "other")).toEqual(["get"]);
    pass(touchIntervalMs);
    // Each agent session has named sessions of its own.
    expect(await step()).toEqual(["get", "put", "list"]);
    expect(await step(callOne, "other")).toEqual(["get", "put", "list"]);
    expect(await step()).toEqual(["get"]);
  });
});

describe("idle named sessions are looked for", () => {
  test("by a step that finds no record of its own, and leaves none", async () => {
    const { step, pass, server } = await startChat();
    server.intercept(on("initialize", (_, response) => void response.writeHead(503).end()));
    expect(await step(callNone)).toEqual(["get", "list"]);
    pass(touchIntervalMs);
    expect(await step(callNone)).toEqual(["get", "list"]);
    server.intercept(() => "next");
  });

  test("although restarts and forgotten lists write the record again and again", async () => {
    const { step, pass, store, now, startAnother } = await startChat();
    const sessions = startAnother(store, now);
    await step();
    const changes = [
      () => sessions.restart("chat", use),
      () => step(),
      () => sessions.clearTools("chat", use),
    ];
    for (const change of changes) {
      pass(touchIntervalMs / 3);
      await change();
    }
    expect(await step()).toContain("list");
  });

  test("in a record of an earlier release", async () => {
    const { step, store, pass } = await startChat({ session: { shared: "team" } });
    await step();
    const { records } = await store.list({ limit: 1 });
    const { key, value, revision, owner } = records[0]!;
    const { looks: _, ...earlier } = value as { looks?: null };
    await store.put(key, earlier, revision, { owner });
    pass(1);
    expect(await step()).toEqual(["get", "put", "list"]);
    expect(await step()).toEqual(["get"]);
  });

  test.each([[{}], [[["chat"]]], [[["chat", "now"]]]])(
    "and a record with looks of %j does not parse",
    async (looks) => {
      const shared = { session: { shared: "team" } };
      const { step, store, now, startAnother } = await startChat(shared);
      await step();
      const [record] = (await store.list({ limit: 1 })).records;
      const { key, value, revision, owner } = record!;
      await store.put(key, { ...(value as object), looks }, revision, { owner });
      const sessions = startAnother(store, now);
      expect(
        (await sessions.list({ ...use, sessionId: { shared: "team" } })).sessions,
      ).toMatchObject([{ kind: "invalid" }]);
    },
  );
});
