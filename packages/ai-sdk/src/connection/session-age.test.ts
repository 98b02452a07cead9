/** Sessions that are open for too long: `session.maxAgeMs`. */
import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { type AgentSession, alice } from "../../test/step.ts";
import {
  type ConnectionEvent,
  type ConnectionRun,
  createConnectionProvider,
  createDurableSessions,
  defineMcpClientConnection,
  type StatefulSessionOptions,
} from "../index.ts";

const maxAgeMs = 60_000;
const gone = expect.stringContaining("the server had lost the session");

/** Steps of one agent session, each a process of its own, with a clock that the test sets. */
async function startSteps(kept: "state" | "store") {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  const events: ConnectionEvent[] = [];
  const prepared: string[] = [];
  let time = Date.now();
  let session: AgentSession = {};
  const providerOf = (options: Partial<StatefulSessionOptions>) =>
    createConnectionProvider({
      connections: {
        notes: defineMcpClientConnection({
          url: server.url,
          description: "A notebook.",
          session: {
            mode: "stateful",
            onStart: ({ reason }) => void prepared.push(reason),
            ...options,
          },
        }),
      },
      now: () => time,
      onEvent: { every: (event) => events.push(event) },
    });
  return {
    server,
    prepared,
    pass: (ms: number) => void (time += ms),
    session: () => session,
    /** What is told of replaced sessions since the last look. */
    takeTold: () =>
      events
        .splice(0)
        .flatMap((event) =>
          event.type === "discarded" ? `discarded: ${event.reason}` : event.type,
        )
        .filter((type) => /^(?:discarded|recovered|started|not-ended)/.test(type)),
    step: async <T>(
      use: (registry: ConnectionRun<any>) => Promise<T>,
      options: Partial<StatefulSessionOptions> = { maxAgeMs },
    ): Promise<T> => {
      const provider = providerOf(options);
      if (kept !== "store") {
        const { state } = session;
        const registry = provider.create({ state, principal: alice, sessionId: "chat" });
        const result = await registry.enter(async () => await use(registry));
        session = JSON.parse(JSON.stringify(provider.commit(registry, session))) as AgentSession;
        return result;
      }
      const sessions = createDurableSessions({ provider, store });
      return (await sessions.run("chat", { principal: alice }, (run) => use(run))) as T;
    },
  };
}

const addNote = async (registry: ConnectionRun<any>) => {
  const output: any = await registry.call("notes", "add_note", { text: "a" });
  return output.content[0].text as string;
};
const addNoteByName = (registry: ConnectionRun<any>) => registry.named.run("research", addNote);
const textsForModel = async (registry: ConnectionRun<any>) => {
  const tool: any = (await registry.tools())["notes__add_note"];
  const output: unknown = await tool.execute({ text: "a" }, { toolCallId: "1", messages: [] });
  const { value } = await tool.toModelOutput({ toolCallId: "1", input: {}, output });
  return value.map(({ text }: { text: string }) => text);
};

test.each(["state", "store"] as const)(
  "a session that is too old is ended by the next step, replaced, and told of (%s)",
  async (kept) => {
    const { step, server, pass, takeTold, prepared } = await startSteps(kept);
    await step(addNote);
    pass(maxAgeMs - 1);
    expect(await step(addNote)).toBe("2 notes");
    expect(takeTold()).toEqual(["started"]);
    pass(1);
    await step(async (registry) => {
      expect(await textsForModel(registry)).toEqual([gone, "1 notes"]);
      // Never during a step.
      pass(2 * maxAgeMs);
      expect(await addNote(registry)).toBe("2 notes");
    });
    expect(takeTold()).toEqual(["recovered", "discarded: age"]);
    expect(prepared).toEqual(["started", "recovered"]);
    expect(server.liveSessions()).toBe(1);
    // The new one has an age of its own.
    await step(addNote);
    expect(takeTold()).toEqual(["recovered", "discarded: age"]);
    expect(server.liveSessions()).toBe(1);
  },
);

test("a named session has an age, too", async () => {
  const { step, server, pass, takeTold } = await startSteps("state");
  await step(async (registry) => {
    await registry.named.create("research");
    await addNoteByName(registry);
  });
  pass(maxAgeMs);
  expect(await step(addNoteByName)).toBe("1 notes");
  expect(takeTold()).toEqual(["started", "recovered", "discarded: age"]);
  expect(server.liveSessions()).toBe(1);
});

test("the age of a session in an older state counts from the first step with a limit", async () => {
  const { step, pass, takeTold, session } = await startSteps("state");
  await step(addNote, {});
  expect(JSON.stringify(session())).not.toContain("startedAt");
  pass(10 * maxAgeMs);
  expect(await step(addNote)).toBe("2 notes");
  pass(maxAgeMs - 1);
  expect(await step(addNote)).toBe("3 notes");
  pass(1);
  expect(await step(addNote)).toBe("1 notes");
  expect(takeTold()).toEqual(["started", "recovered", "discarded: age"]);
});

test("a session that nothing uses stays as it is", async () => {
  const { step, pass, server, session, takeTold } = await startSteps("state");
  await step(addNote);
  const before = session();
  pass(maxAgeMs);
  await step(async () => undefined);
  expect(session()).toEqual(before);
  expect(server.liveSessions()).toBe(1);
  expect(takeTold()).toEqual(["started"]);
});
