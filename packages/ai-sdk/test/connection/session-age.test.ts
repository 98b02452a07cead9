/** Sessions that are open for too long: `session.maxAgeMs`. */
import { expect, test } from "vitest";
import {
  addNote,
  type Backend,
  backends,
  callForModel,
  type Run,
  startAgent,
} from "../agent-session.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { startApplication } from "../step.ts";
import type { StatefulSessionOptions } from "../../src/index.ts";

const maxAgeMs = 60_000;
const gone = expect.stringContaining("the server had lost the session");

async function startSteps(backend: Backend) {
  const server = await startNotebookServer();
  const prepared: string[] = [];
  const agent = startAgent(backend, {});
  const notes = (options: Partial<StatefulSessionOptions>) =>
    notebook(server, {
      session: {
        ...{ mode: "stateful", onStart: ({ reason }) => void prepared.push(reason) },
        ...options,
      },
    });
  return {
    server,
    prepared,
    pass: agent.pass,
    contents: agent.contents,
    /** What is told of replaced sessions since the last look. */
    takeTold: () =>
      agent.events
        .splice(0)
        .flatMap((event) =>
          event.type === "discarded" ? `discarded: ${event.reason}` : event.type,
        )
        .filter((type) => /^(?:discarded|recovered|started|not-ended)/.test(type)),
    step: async <T>(
      use: (run: Run) => Promise<T>,
      options: Partial<StatefulSessionOptions> = { maxAgeMs },
    ): Promise<T> => await agent.as({ notes: notes(options) }).step(use),
  };
}

const add = (run: Run) => addNote(run, "a");
const addByName = (run: Run) => run.named.run("research", add);

test.each(backends)(
  "a session that is too old is ended by the next step, replaced, and told of, in %s",
  async (backend) => {
    const { step, server, pass, takeTold, prepared } = await startSteps(backend);
    await step(add);
    pass(maxAgeMs - 1);
    expect(await step(add)).toBe("2 notes");
    expect(takeTold()).toEqual(["started"]);
    pass(1);
    await step(async (registry) => {
      expect(await callForModel(registry, "notes__list_notes")).toEqual([gone, ""]);
      expect(await addNote(registry, "a")).toBe("1 notes");
      // Never during a step.
      pass(2 * maxAgeMs);
      expect(await add(registry)).toBe("2 notes");
    });
    expect(takeTold()).toEqual(["recovered", "discarded: age"]);
    expect(prepared).toEqual(["started", "recovered"]);
    expect(server.liveSessions()).toBe(1);
    // The new one has an age of its own.
    await step(add);
    expect(takeTold()).toEqual(["recovered", "discarded: age"]);
    expect(server.liveSessions()).toBe(1);
  },
);

test.each(backends)("a named session has an age, too, in %s", async (backend) => {
  const { step, server, pass, takeTold } = await startSteps(backend);
  await step(async (registry) => {
    await registry.named.create("research");
    await addByName(registry);
  });
  pass(maxAgeMs);
  expect(takeTold()).toEqual(["started"]);
  expect(await step(addByName)).toBe("1 notes");
  expect(takeTold().toSorted()).toEqual(["discarded: age", "recovered"]);
  expect(server.liveSessions()).toBe(1);
});

test("the age of a session in an older state counts from the first step with a limit", async () => {
  const { step, pass, takeTold, contents } = await startSteps("carried state");
  await step(add, {});
  expect(await contents()).not.toContain("startedAt");
  pass(10 * maxAgeMs);
  expect(await step(add)).toBe("2 notes");
  pass(maxAgeMs - 1);
  expect(await step(add)).toBe("3 notes");
  pass(1);
  expect(await step(add)).toBe("1 notes");
  expect(takeTold()).toEqual(["started", "recovered", "discarded: age"]);
});

test("a session that nothing uses stays as it is", async () => {
  const server = await startNotebookServer();
  let time = 1_000_000;
  const session = { mode: "stateful", maxAgeMs } as const;
  const { step, takeEvents } = startApplication(
    { notes: notebook(server, { session }) },
    { now: () => time },
  );
  const before = await step({}, add);
  time += maxAgeMs;
  expect(await step(before, () => undefined)).toEqual(before);
  expect(server.liveSessions()).toBe(1);
  expect(takeEvents()).toEqual(["started"]);
});
