import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { collectEvents } from "../collect-events.ts";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, callTool } from "../step.ts";
import {
  type ConnectionRun,
  createDurableSessions,
  defineMcpClientConnection,
} from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";

const kinds = ["stateful", "stateless", "stdio"] as const;
const description = "Waits.";

/** Sessions with one connection, whose tool answers nothing. @returns also how many calls its server has got */
async function start(kind: (typeof kinds)[number]) {
  const { events, onEvent } = collectEvents();
  const server = await startNotebookServer();
  const stdio = {
    ...describingProgram("hang"),
    description,
    session: { resend: "always" },
  } as const;
  const notes =
    kind === "stdio"
      ? defineMcpStdioConnection(stdio)
      : defineMcpClientConnection({ url: server.url, description, session: kind });
  const connections = { notes } as Record<string, typeof notes>;
  const sessions = createDurableSessions({ connections, store: createMemoryStore(), onEvent });
  const received = () =>
    kind === "stdio"
      ? events.filter(({ type }) => type === "notification").length
      : server.waits.filter((each) => each === "started").length;
  return { sessions, received, tool: kind === "stdio" ? "describe" : "wait" };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Calls of the model, the application, and of a client. */
async function callAll(run: ConnectionRun<any>, { tool, received }: Started) {
  const client = await run.client("notes");
  const calls = [
    callTool(await run.tools(), `notes__${tool}`),
    run.call("notes", tool),
    client.callTool({ name: tool, arguments: {} }),
  ].map((call) => call.catch((error: unknown) => error));
  await expect.poll(received).toBe(calls.length);
  return calls;
}

const ways = {
  shutdown: (_: ConnectionRun<any>, { sessions }: Started) => sessions.shutdown(),
  dispose: (run: ConnectionRun<any>) => run.dispose(),
};

describe.each(kinds)("calls under way over a connection that is %s", (kind) => {
  const expectUnknown = async ({ received }: Started, calls: readonly Promise<unknown>[]) => {
    const data = { method: "tools/call", connection: "notes", origin: expect.any(String) };
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({
        code: "OUTCOME_UNKNOWN",
        data,
        ...(kind !== "stdio" && { cause: expect.any(Error) }),
      });
      expect(String(error)).toMatch(/check before you send (?:it|the request) again/);
    }
    expect(received()).toBe(calls.length);
  };

  test.each(Object.entries(ways))("have an unknown outcome after %s", async (_, end) => {
    const started = await start(kind);
    const run = await started.sessions.open("chat", { principal: alice });
    const calls = await callAll(run, started);
    await end(run, started);
    await expectUnknown(started, calls);
    await started.sessions.shutdown();
  });

  test("have an unknown outcome after an abort of the run", async () => {
    const started = await start(kind);
    const controller = new AbortController();
    const { signal: abortSignal } = controller;
    let calls: Promise<unknown>[] = [];
    const run = started.sessions.run("chat", { principal: alice, abortSignal }, async (of) => {
      calls = await callAll(of, started);
      controller.abort(new Error("The page is gone."));
      await Promise.all(calls);
    });
    await run.catch(() => undefined);
    await expectUnknown(started, calls);
    await started.sessions.shutdown();
  });
});
