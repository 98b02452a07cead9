/** A stdio server's process under a name, as the model and the code of an agent use it. */
import { currentConnections, withConnections } from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { call, startNamed } from "./named-processes.ts";

const named = { fixture: { named: "login" } } as const;
const addNote = (text: string) =>
  withConnections(named, () => call(currentConnections(), "add_note", { text }));

test("a process under a name is one for three agents of a step, and ends with the step", async () => {
  const { provider, processes, events } = startNamed();
  const registry = provider.create({});
  await registry.enter(async () => {
    await Promise.all(["a", "b", "c"].map(addNote));
    await withConnections(named, async () => {
      expect(await call(currentConnections(), "list_notes")).toMatch(/^[abc], [abc], [abc]$/);
      const [login] = await currentConnections().named.list();
      expect(login).toMatchObject({
        name: "login",
        connections: [
          { connection: "fixture", kind: "process", server: { name: "stdio-fixture" } },
        ],
      });
    });
    expect(processes()).toHaveLength(1);
  });
  expect(processes()).toEqual([]);
  expect(events.filter(({ type }) => type === "started")).toMatchObject([{ name: "login" }]);
});

test("with a pool it is found by its name in later runs, and ended by its name", async () => {
  const { run, processes, takeEvents } = startNamed({ pool: {} });
  await run(() => addNote("kept"));
  expect(processes()).toHaveLength(1);
  await run(async ({ named: names }) => {
    const noted = names.run("login", (own) => call(own, "list_notes"));
    expect(await noted).toBe("kept");
    takeEvents();
    expect(await names.end("login")).toEqual([
      { connection: "fixture", name: "login", ended: true },
    ]);
    expect(await names.find("login")).toBeUndefined();
  });
  expect(processes()).toEqual([]);
  expect(takeEvents()).toMatchObject([
    { type: "client", action: "closed", reason: "stale", name: "login" },
  ]);
});
