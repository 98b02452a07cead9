import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startRuns, textOf } from "../../test/run.ts";
import { alice } from "../../test/step.ts";
import { createDurableSessions, currentConnections, joinOrRun } from "../index.ts";

const principal = alice;
const fail = () => Promise.reject(new Error("A mistake."));

test("joins the run around, and opens one of its own where there is none", async () => {
  const { provider, cart } = await startRuns();
  const sessions = createDurableSessions({ provider, store: createMemoryStore() });
  let opened = 0;
  const add = () =>
    joinOrRun(
      async ({ registry }) => {
        expect(currentConnections()).toBe(registry);
        return textOf(await registry.call("cart", "add_note", { text: "a" }));
      },
      (run) => {
        opened += 1;
        return sessions.run("chat", { principal }, run);
      },
    );
  expect(await add()).toBe("1 notes");
  expect(opened).toBe(1);
  await sessions.run("chat", { principal }, async () => {
    expect(await add()).toBe("2 notes");
    expect(await joinOrRun(add, () => Promise.reject(new Error("not asked")))).toBe("3 notes");
    // The run around goes on.
    expect(await add()).toBe("4 notes");
  });
  expect(opened).toBe(1);
  expect(cart.sessionIds).toHaveLength(1);
});

test("gives what the opened run gives: the session of a run on state", async () => {
  const { provider } = await startRuns();
  const outcome = await joinOrRun(
    ({ registry }) => registry.call("cart", "list_notes"),
    (run) => provider.run({ session: {}, principal }, run),
  );
  expect(outcome).toMatchObject({ result: {}, session: { state: { mcpSessions: {} } } });
});

test("fails as the function does, and closes its own run", async () => {
  const { provider, create } = await startRuns();
  const opened = joinOrRun(fail, (run) => provider.run({ session: {}, principal }, run));
  await expect(opened).rejects.toThrow("A mistake.");
  const registry = create();
  await registry.run(async () => {
    await expect(joinOrRun(fail, fail)).rejects.toThrow("A mistake.");
    await registry.call("cart", "list_notes");
  });
});
