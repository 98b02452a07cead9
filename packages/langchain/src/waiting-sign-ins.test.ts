/** Calls that wait for a sign-in: the graph is interrupted, as by a question. */
import { withConnections } from "@durable-mcp/ai-sdk";
import { Command } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { yes } from "../../sessions/test/asking-server.ts";
import { callsOf } from "../../sessions/test/calls-of.ts";
import {
  type LockedApplication,
  startLockedNotebook,
  startLockedOldServer,
  startLockedShop,
  use,
} from "../../ai-sdk/test/sign-in-application.ts";
import { createToldAgent, questions, results, createToolNode } from "../test/shop.ts";
import { loadSessionTools } from "./load-session-tools.ts";

const startUrl = "https://app.test/oauth/start";
const call = (name: string, args: Record<string, string> = {}) => ({
  ...{ name: `work__${name}`, args },
  id: ["call", name, ...Object.values(args)].join("-"),
});
const addNote = (text: string) => call("add_note", { text });
const look = (item: string) => call("look", { item });

const stepOf =
  (app: LockedApplication, own: Parameters<LockedApplication["sessions"]>[0] = {}) =>
  async <T>(work: () => Promise<T>): Promise<T> =>
    await app.sessions(own).run("chat", use, work);

/** The user was signed in, and is not any more, or lacks a scope. */
async function lockLater(app: LockedApplication): Promise<void> {
  await app.signIn();
  await app.sessions().run("chat", use, (run) => run.tools());
  if (app.connection().options.session === "stateful") app.signIns.revokeAll();
  app.take();
}

/** Without any token, and then without the scope of the call. */
async function signInTwice(app: LockedApplication, goOn: () => Promise<unknown>): Promise<void> {
  await app.signIn();
  await goOn();
  await app.signIn();
}

const unreachable = async () => {
  throw new Error("The database is away.");
};

type Turns = Parameters<typeof createToldAgent>[1];

/** An agent whose first calls meet a locked door. */
async function startLocked(app: LockedApplication, turns: Turns) {
  await lockLater(app);
  return createToldAgent(stepOf(app), turns);
}

describe("a call that meets a locked door", () => {
  test("interrupts the graph, until the user has signed in, and is sent once then", async () => {
    const app = await startLockedNotebook();
    const { start, resume, goOn } = await startLocked(app, [[addNote("tea")]]);
    const asked = await start();
    const [parked] = callsOf(await app.waiting());
    expect(questions(asked)).toEqual([{ ...parked, startUrl }]);
    expect(parked).toMatchObject({ tool: "add_note", toolCallId: "call-add_note-tea", round: 0 });
    expect(app.take().sent).toEqual(["POST tools/call"]);

    for (const early of [await resume("not yet"), await goOn()])
      expect(questions(early)).toEqual([{ ...parked, startUrl }]);
    expect(app.take().sent).toEqual([]);

    await app.signIn();
    expect(results(await resume("done"))).toEqual(["1 notes"]);
    expect(app.take().sent).toEqual(["POST tools/call"]);
    expect(app.server.sessionIds).toHaveLength(1);
    expect(await app.waiting()).toEqual([]);
  });

  test.each(["isolate", { named: "aside" }, { shared: "common" }] as const)(
    "waits and goes on in %j, too",
    async (mode) => {
      const app = await startLockedNotebook();
      await app.signIn();
      const { start, resume } = createToldAgent(
        async (work) => await stepOf(app)(async () => withConnections({ work: mode }, work)),
        [[call("list_notes")]],
      );
      expect(questions(await start())).toMatchObject([{ tool: "list_notes", startUrl }]);
      await app.signIn();
      expect(results(await resume(true))).toEqual([""]);
      expect(app.calls()).toHaveLength(2);
      expect(await app.waiting()).toEqual([]);
    },
  );

  test("is found again where its server lists no tools without the sign-in", async () => {
    const app = await startLockedShop();
    const { start, resume } = await startLocked(app, [[look("tea")]]);
    const asked = await start();
    app.signIns.revokeAll();
    expect(questions(await resume(true))).toMatchObject(questions(asked));
    await signInTwice(app, () => resume(true));
    expect(results(await resume(true))).toEqual(["look tea is done."]);
    expect(app.server.legs).toHaveLength(1);
  });

  test("waits in a server over HTTP+SSE, too", async () => {
    const app = await startLockedOldServer();
    const { start, resume } = await startLocked(app, [[call("look")]]);
    await start();
    await app.signIn();
    app.take();
    expect(results(await resume(true))).toEqual(["found"]);
    expect(app.calls()).toHaveLength(1);
  });

  test("waits again if the server refuses it again", async () => {
    const app = await startLockedNotebook();
    const { start, resume } = await startLocked(app, [[call("list_notes")]]);
    await start();
    await app.signIn();
    // It lacks a scope now.
    expect(questions(await resume(true))).toMatchObject([{ round: 0, startUrl }]);
    await app.signIn();
    expect(results(await resume(true))).toEqual([""]);
    expect(app.calls()).toHaveLength(3);
  });

  test("goes on with the server's question after the sign-in", async () => {
    const app = await startLockedShop({ waiting: true });
    const { start, resume } = await startLocked(app, [[call("order", { item: "tea" })]]);
    expect(questions(await start())).toMatchObject([{ round: 0, startUrl }]);
    await app.signIn();
    const asked = questions(await resume(true));
    expect(asked).toMatchObject([{ round: 1, requests: { confirm: {} } }]);
    expect(asked[0]).not.toHaveProperty("startUrl");
    expect(results(await resume(yes))).toEqual(["order tea is done."]);
    expect(app.server.legs).toHaveLength(2);
  });

  test("is an error for the model if the application takes it back", async () => {
    const app = await startLockedNotebook();
    const { start, resume } = await startLocked(app, [[addNote("tea")]]);
    const [parked] = questions(await start());
    await app.sessions().withdraw("chat", parked!.id, use);
    app.take();
    expect(results(await resume(true))).toEqual([expect.stringMatching(/taken the call back/)]);
    expect(app.calls()).toEqual([]);
  });

  test("does not run if it is denied by now", async () => {
    const policy = { status: "approved" as "approved" | "denied" };
    const app = await startLockedNotebook({ approval: () => policy.status });
    const { start, resume } = await startLocked(app, [[addNote("tea")]]);
    await start();
    await app.signIn();
    policy.status = "denied";
    app.take();
    expect(results(await resume(true))).toEqual([expect.stringMatching(/application denied/)]);
    expect(app.calls()).toEqual([]);
    expect(await app.waiting()).toEqual([]);
  });

  test("fails with the server's own error", async () => {
    const error = { code: -32_000, message: "No tea." };
    const app = await startLockedShop({}, { answer: () => ({ error }) });
    const { start, resume } = await startLocked(app, [[look("tea")]]);
    await start();
    await app.signIn();
    expect(results(await resume(true))).toEqual([expect.stringMatching(/No tea\./)]);
  });

  test("waits on, with the reason, where the sign-in cannot be looked up", async () => {
    const app = await startLockedNotebook();
    const { start, resume, run } = await startLocked(app, [[addNote("tea")]]);
    await start();
    await app.signIn();
    app.take();
    const auth = { ...app.signIns.auth, authorizationFor: unreachable };
    const work = app.connection({ auth });
    const away = stepOf(app, { connections: { work } });
    const again = await run(new Command({ resume: true }), away);
    expect(questions(again)).toMatchObject([{ error: { code: "CONNECTION_UNAVAILABLE" } }]);
    expect(app.calls()).toEqual([]);
    expect(results(await resume(true))).toEqual(["1 notes"]);
  });

  test("says where to sign in, in the error's words, where no graph can be interrupted", async () => {
    const app = await startLockedNotebook();
    await lockLater(app);
    await stepOf(app)(async () => {
      const tools = await loadSessionTools();
      const tool = tools.find(({ name }) => name === "work__add_note")!;
      const called = tool.invoke({ ...addNote("tea"), type: "tool_call" });
      await expect(called).rejects.toMatchObject({ message: expect.stringContaining(startUrl) });
    });
    expect(callsOf(await app.waiting())).toEqual([]);
  });
});

test("several calls that meet it go on together, with one answer without an id", async () => {
  const app = await startLockedNotebook();
  const { start, resume } = await startLocked(app, [[addNote("tea"), addNote("milk")]]);
  expect(questions(await start())).toHaveLength(2);
  await app.signIn();
  app.take();
  expect(new Set(results(await resume(true)))).toEqual(new Set(["1 notes", "2 notes"]));
  expect(app.calls()).toHaveLength(2);
});

describe("a stand-in", () => {
  test("interrupts the graph, and after the sign-in the tools are there", async () => {
    const app = await startLockedNotebook();
    const agent = createToldAgent(stepOf(app), [[call("sign_in")], [addNote("tea")]]);
    const standIn = { tool: "sign_in", state: "waiting", startUrl };
    expect(questions(await agent.start())).toMatchObject([standIn]);
    expect(questions(await agent.resume(true))).toMatchObject([standIn]);
    await app.signIn();
    expect(results(await agent.resume(true))).toEqual([
      expect.stringContaining("signed in to connection work"),
      "1 notes",
    ]);
    expect(await app.waiting()).toEqual([]);
  });

  test("is an error for the model if the application takes it back", async () => {
    const app = await startLockedNotebook();
    const { start, resume } = createToldAgent(stepOf(app), [[call("sign_in")]]);
    const [standIn] = questions(await start());
    await app.sessions().withdraw("chat", standIn!.id, use);
    expect(results(await resume(true))).toEqual([expect.stringMatching(/taken the call back/)]);
  });

  test("says where to sign in where no graph can be interrupted", async () => {
    const app = await startLockedNotebook();
    await stepOf(app)(async () => {
      const [tool, ...others] = await loadSessionTools();
      expect(others).toEqual([]);
      expect(tool!.description).toContain("connection work (Work.)");
      expect(await tool!.invoke({})).toContain(`at ${startUrl}`);
    });
    expect(callsOf(await app.waiting())).toEqual([]);
  });
});

describe("a call that waits for a sign-in is sent once", () => {
  test("by two processes that go on at once", async () => {
    const app = await startLockedNotebook();
    const { start, resume } = await startLocked(app, [[addNote("tea")]]);
    await start();
    await app.signIn();
    app.take();
    const done = await Promise.all([resume(true), resume(true)]);
    for (const state of done) expect(results(state)).toEqual(["1 notes"]);
    expect(app.calls()).toHaveLength(1);
  });

  test("by two processes, if one of them looks at the sign-in when the other has made the call", async () => {
    const app = await startLockedNotebook();
    const { start, resume, run } = await startLocked(app, [[addNote("tea")]]);
    await start();
    await app.signIn();
    app.take();
    const looks = Promise.withResolvers<void>();
    const other = Promise.withResolvers<void>();
    const authorizationFor: typeof app.signIns.auth.authorizationFor = async (of) => {
      looks.resolve();
      await other.promise;
      return await app.signIns.auth.authorizationFor(of);
    };
    const work = app.connection({ auth: { ...app.signIns.auth, authorizationFor } });
    const late = run(new Command({ resume: true }), stepOf(app, { connections: { work } }));
    await looks.promise;
    expect(results(await resume(true))).toEqual(["1 notes"]);
    other.resolve();
    expect(results(await late)).toEqual(["1 notes"]);
    expect(app.calls()).toHaveLength(1);
  });

  test("by a process that is gone before it saved the result, and the next one delivers it", async () => {
    const app = await startLockedNotebook();
    const { start, resume, checkpointer } = await startLocked(app, [[addNote("tea")]]);
    await start();
    const { storage, writes } = checkpointer;
    const saved = structuredClone({ storage, writes });
    await app.signIn();
    app.take();
    for (let process = 0; process < 2; process += 1) {
      Object.assign(checkpointer, structuredClone(saved));
      expect(results(await resume(true))).toEqual(["1 notes"]);
    }
    expect(app.calls()).toHaveLength(1);
  });
});

describe("in a graph of one's own", () => {
  test("the calls of a task wait one after the other, and go on together", async () => {
    const app = await startLockedShop();
    await lockLater(app);
    const { start, resume } = createToolNode(stepOf(app));
    expect(questions(await start([look("tea"), look("milk")]))).toHaveLength(1);
    app.signIns.revokeAll();
    expect(questions(await resume(true))).toHaveLength(1);
    await signInTwice(app, () => resume(true));
    expect(results(await resume(true))).toEqual(["look tea is done.", "look milk is done."]);
    expect(app.server.legs).toHaveLength(2);
  });

  test("a stand-in is there for its call after the sign-in, and not any more then", async () => {
    const app = await startLockedNotebook();
    const { start, resume } = createToolNode(stepOf(app));
    await start([call("sign_in")]);
    await app.signIn();
    expect(results(await resume(true))).toEqual([expect.stringContaining("has signed in")]);
    const names = await stepOf(app)(async () => (await loadSessionTools()).map(({ name }) => name));
    expect(names).toContain("work__add_note");
    expect(names).not.toContain("work__sign_in");
  });

  test("a call is sent as hooks have changed it, and found again though they change it again", async () => {
    const app = await startLockedShop();
    await lockLater(app);
    let count = 0;
    const beforeToolCall = () => ({ args: { trace: String((count += 1)) } });
    const { start, resume } = createToolNode(stepOf(app), { beforeToolCall });
    await start([look("tea")]);
    await app.signIn();
    expect(results(await resume(true))).toEqual(["look tea is done."]);
    expect(app.server.legs.map(({ params }) => params.arguments?.["trace"])).toEqual(["1"]);
  });
});
