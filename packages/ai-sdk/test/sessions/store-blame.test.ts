import { McpSessionError } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { list } from "../agent-session.ts";
import { startStored } from "../durable-process.ts";
import { alice } from "../step.ts";

const use = { principal: alice };

/** What the parts of a store may throw: its own errors, and those that look like a server's. */
const failures: Record<string, () => unknown> = {
  "its own error": () => new McpSessionError("STORE_FAILED", "The test store failed at put."),
  "a network error": () =>
    new TypeError("fetch failed", {
      cause: Object.assign(new Error("connect ECONNREFUSED"), {
        code: "ECONNREFUSED",
        syscall: "connect",
      }),
    }),
  "an HTTP status": () =>
    Object.assign(new Error("Unauthorized"), { status: 401, statusCode: 401 }),
  "no error at all": () => undefined,
};

async function startStage(fail: () => unknown) {
  const process = await startStored();
  const failAt = (operation: "get" | "put" | "list") =>
    process.held.before(operation, () => {
      throw fail();
    });
  return { failAt, ...process };
}

function expectStoreToBlame(outcome: unknown, server: { readonly url: URL | string }) {
  expect(outcome).toMatchObject({ code: "STORE_FAILED" });
  const { message, data } = outcome as McpSessionError;
  expect(data.origin).toBeUndefined();
  expect(data.status).toBeUndefined();
  expect(message).not.toContain(new URL(server.url).host);
  expect(message).toContain("store failed at");
}

const caught = (work: Promise<unknown>) =>
  work.then(
    () => "nothing was thrown",
    (error: unknown) => error,
  );

describe.each(Object.entries(failures))("a store that fails with %s is to blame", (_, fail) => {
  test("while a record is loaded, and while a new session is saved", async () => {
    for (const operation of ["get", "put"] as const) {
      const { server, sessions, failAt, types } = await startStage(fail);
      failAt(operation);
      expectStoreToBlame(await caught(sessions.run("chat", use, list)), server);
      expect(types()).not.toContain("unavailable");
    }
  });

  test("while a session is saved that takes a lost one's place", async () => {
    const { server, held, sessions, failAt, types } = await startStage(fail);
    await sessions.run("chat", use, list);
    const outcome = await sessions.run("chat", use, async (run) => {
      server.forgetSessions();
      failAt("put");
      const error = await caught(list(run));
      held.heal();
      return error;
    });
    expectStoreToBlame(outcome, server);
    expect(types()).not.toContain("unavailable");
  });

  test("while sessions are listed", async () => {
    const { server, sessions, failAt } = await startStage(fail);
    failAt("list");
    const calls = [
      () => sessions.list(use),
      () => sessions.list({ ...use, sessionId: "chat" }),
      () => sessions.admin.list(),
      () => sessions.endAll(use),
    ];
    for (const call of calls) expectStoreToBlame(await caught(call()), server);
  });
});
