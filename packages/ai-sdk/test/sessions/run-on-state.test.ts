/** `run` of a provider: a step on state that the application carries. */
import { stepCountIs, streamText } from "ai";
import { describe, expect, test, vi } from "vitest";
import { collectEvents } from "../collect-events.ts";
import { isInUse } from "../counted-sessions.ts";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { type AgentSession, alice, callForText } from "../step.ts";
import { streamingModel } from "../streaming-model.ts";
import { type ConnectionRun, createConnectionProvider } from "../../src/index.ts";
import type { StateRunOptions } from "../../../sessions/src/sessions/connection-provider.ts";

const principal = alice;
const add = (text: string) => ({ tool: "notes__add_note", input: { text } });
const addNote = async (run: ConnectionRun<any>) =>
  callForText(await run.tools(), "notes__add_note", { text: "milk" });

const stream = async (
  run: Pick<ConnectionRun<any>, "tools">,
  model = streamingModel(add("milk")),
) => streamText({ model, tools: await run.tools(), prompt: "go", stopWhen: stepCountIs(3) });
const failToSave = () => Promise.reject(new Error("The disk is full."));

/** An application that carries the state, and its last run. */
async function startApplication() {
  const server = await startNotebookServer();
  const { events, onEvent } = collectEvents();
  const provider = createConnectionProvider({
    connections: {
      notes: notebook(server),
    },
    onEvent,
  });
  let registry: ConnectionRun<any>;
  return {
    server,
    provider,
    failures: () => events.filter(({ type }) => type === "close-failed"),
    types: () => events.map(({ type }) => type),
    isOpen: () => isInUse(registry),
    run: async <T>(
      session: AgentSession,
      step: (run: ConnectionRun<any>) => T | PromiseLike<T>,
      options: Omit<StateRunOptions<AgentSession>, "session"> = { principal },
    ) =>
      await provider.run({ session, ...options }, (own) => {
        registry = own;
        return step(own);
      }),
  };
}

const asJson = (session: AgentSession): AgentSession => JSON.parse(JSON.stringify(session));

describe("a run on state", () => {
  test("keeps all else of the session, and gives the same object when nothing changed", async () => {
    const { run } = await startApplication();
    const session = { id: 7, state: { theirs: true } };
    const first = await run(session, addNote);
    expect(first.session).toMatchObject(session);
    expect(session.state).toEqual({ theirs: true });
    const kept = await run(first.session, addNote);
    expect(kept.session).toBe(first.session);
  });

  test("saves what changed when all is closed, once, and not what did not change", async () => {
    const { run, isOpen } = await startApplication();
    const seen: boolean[] = [];
    const onSession = vi.fn<(session: AgentSession) => Promise<void>>(
      async () => void seen.push(await isOpen()),
    );
    const { session } = await run({}, addNote, { principal, onSession });
    expect(onSession.mock.calls).toEqual([[session]]);
    expect(seen).toEqual([false]);
    await run(session, addNote, { principal, onSession });
    expect(onSession).toHaveBeenCalledTimes(1);
  });
});

test("a run that cannot save after its stream says so", async () => {
  const { provider, failures } = await startApplication();
  const registry = provider.create({ principal });
  const result = await registry.enter(async (own) => stream(own), {
    onClose: failToSave,
  });
  expect(await result.text).toBe("done");
  await vi.waitFor(() =>
    expect(failures()).toMatchObject([{ connection: "notes", reason: "not-committed" }]),
  );
});

describe("a run on state that streams", () => {
  test("gives the stream at once, and the session when it has ended", async () => {
    const { run, server, isOpen } = await startApplication();
    const held = Promise.withResolvers<void>();
    const model = streamingModel({ ...add("milk"), hold: () => held.promise });
    const { result, session } = await run({}, (own) => stream(own, model));
    let isDone = false;
    void session.then(() => (isDone = true));
    expect(await isOpen()).toBe(true);
    expect(isDone).toBe(false);
    held.resolve();
    expect(await result.text).toBe("done");
    const next = await run(asJson(await session), addNote);
    expect(next.result).toBe("2 notes");
    expect(server.sessionIds).toHaveLength(1);
  });

  test("has in its session what changed while it streamed", async () => {
    const { run, server } = await startApplication();
    const { session: before } = await run({}, addNote);
    server.forgetSessions();
    const { result, session } = await run(before, async (own) =>
      (await stream(own)).toUIMessageStreamResponse(),
    );
    expect(await result.text()).toContain("1 notes");
    const next = await run(asJson(await session), addNote);
    expect(next.result).toBe("2 notes");
    expect(server.sessionIds).toHaveLength(2);
  });

  test("says that it could not save: its session rejects, and an event tells", async () => {
    const { run, failures } = await startApplication();
    const { result, session } = await run({}, (own) => stream(own), {
      principal,
      onSession: failToSave,
    });
    expect(await result.text).toBe("done");
    await expect(session).rejects.toThrow("The disk is full.");
    await expect.poll(failures).toMatchObject([{ connection: "notes", reason: "not-committed" }]);
  });

  test("is closed and saved when its signal aborts, and its calls are cancelled", async () => {
    const { run, server, isOpen } = await startApplication();
    const controller = new AbortController();
    const abortSignal = controller.signal;
    const model = streamingModel({ tool: "notes__wait" });
    const { session } = await run(
      {},
      async (own) => streamText({ model, tools: await own.tools(), prompt: "go", abortSignal }),
      { principal, abortSignal },
    );
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    controller.abort();
    expect(await session).toHaveProperty("state.mcpSessions");
    expect(await isOpen()).toBe(false);
    await vi.waitFor(() => expect(server.waits).toEqual(["started", "aborted"]));
  });

  test("of a server that is down has no tools, and gives what was", async () => {
    const { run, server } = await startApplication();
    server.intercept(on("initialize", (_, response) => void response.writeHead(503).end()));
    const before = {};
    const { result, session } = await run(before, () => new Response("done"));
    expect(await result.text()).toBe("done");
    expect(await session).toBe(before);
  });
});
