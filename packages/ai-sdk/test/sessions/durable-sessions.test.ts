import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { add, list } from "../agent-session.ts";
import { startProcess, startStored } from "../durable-process.ts";
import { createFaultyStore } from "@durable-mcp/testing";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, bob, outdateTools, openAndList } from "../step.ts";

test("a session is saved after onStart and before any call", async () => {
  const server = await startNotebookServer();
  const held = createFaultyStore(createMemoryStore());
  const order: string[] = [];
  held.before("put", () => void order.push(`put after ${server.log.at(-1)}`));
  const { sessions } = startProcess(server, held.store, {
    session: {
      onStart: async ({ client }) => {
        await client.callTool({ name: "add_note", arguments: { text: "set up" } });
        order.push("onStart");
      },
    },
  });
  await sessions.run("chat", { principal: alice }, async (run) => {
    expect(await list(run)).toBe("set up");
  });
  expect(order[0]).toBe("onStart");
  expect(order[1]).toBe("put after POST tools/list");
  expect(server.log).toEqual([
    "POST initialize",
    "POST notifications/initialized",
    "POST tools/call",
    "POST tools/list",
    "POST tools/call",
  ]);
});

test("agents that share have one session for each principal", async () => {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  const use = (principal: typeof alice) =>
    startProcess(server, store, { share: true }).sessions.run("chat", { principal }, add("ours"));
  expect(await use(alice)).toBe("1 notes");
  expect(await use(alice)).toBe("2 notes");
  expect(await use(bob)).toBe("1 notes");
});

test("an agent session has an id, and nothing is sent without", async () => {
  const { server, sessions } = await startStored();
  const principal = alice;
  for (const call of [
    openAndList(sessions, "", { principal }),
    sessions.list({ principal, sessionId: "" }),
    sessions.status("", { principal }),
    sessions.restart("", { principal }),
    sessions.clearTools("", { principal }),
    sessions.end("", { principal }),
  ]) {
    await expect(call).rejects.toMatchObject({ code: "CONNECTION_INVALID" });
  }
  expect(server.log).toEqual([]);
});

test("a principal is needed to list and to delete", async () => {
  const { sessions } = startProcess({ url: "http://127.0.0.1:9/mcp" }, createMemoryStore());
  const nobody = { principal: undefined } as any;
  await expect(sessions.list(nobody)).rejects.toMatchObject({ code: "PRINCIPAL_REQUIRED" });
  await expect(sessions.endAll(nobody)).rejects.toMatchObject({ code: "PRINCIPAL_REQUIRED" });
});

test("a session that cannot be saved is ended, and the open fails", async () => {
  const { server, held, sessions } = await startStored();
  held.fail("put");
  await expect(openAndList(sessions, "chat", { principal: alice })).rejects.toMatchObject({
    code: "STORE_FAILED",
  });
  expect(server.log).toContain("DELETE");
  expect(server.liveSessions()).toBe(0);
  held.heal();
  const lease = await openAndList(sessions, "chat", { principal: alice });
  expect(await add("works")(lease)).toBe("1 notes");
  await lease.dispose();
});

test("results are kept when the store fails at the end, and that is reported", async () => {
  const { held, sessions, events } = await startStored();
  const result = await sessions.run("chat", { principal: alice }, async (run) => {
    const text = await add("done")(run);
    await outdateTools(run);
    held.fail("put");
    return text;
  });
  expect(result).toBe("1 notes");
  const { error, ...event } = events.at(-1) as any;
  expect(event).toEqual({ type: "store-failed", connection: "notes", operation: "close" });
  expect(error).toMatchObject({ code: "STORE_FAILED" });
  expect(error).not.toHaveProperty("cause");
});

test("an aborted open says why, and leaves nothing open", async () => {
  const { server, sessions } = await startStored();
  const reason = new Error("the user left");
  const controller = new AbortController();
  server.intercept(() => {
    controller.abort(reason);
    return "next";
  });
  await expect(
    openAndList(sessions, "chat", { principal: alice, abortSignal: controller.signal }),
  ).rejects.toBe(reason);
  await expect(
    openAndList(sessions, "chat", { principal: alice, abortSignal: AbortSignal.abort(reason) }),
  ).rejects.toBe(reason);
});
