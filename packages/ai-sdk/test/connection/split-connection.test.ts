/** `session.except` of a stdio server. */
import { expect, onTestFinished, test } from "vitest";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import { callTool, startApplication } from "../step.ts";
import type { ConnectionRun } from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";

/** An application with a pool. Its server's tool has the names `describe` and `other`, which is called aside. */
function start(...args: string[]) {
  const own = defineMcpStdioConnection({
    ...describingProgram("two", ...args),
    description: "A program.",
    session: { except: ["other"] },
  });
  const { provider, events } = startApplication<any>({ own }, { pool: {} });
  onTestFinished(() => provider.shutdown());
  return { open: () => provider.create({ sessionId: "chat" }), events };
}

type Call = (run: ConnectionRun<any>, tool: string) => Promise<unknown>;

const calls: readonly (readonly [of: string, call: Call])[] = [
  ["the model", async (run, tool) => await callTool(await run.tools(), `own__${tool}`)],
  ["the application", (run, tool) => run.call("own", tool)],
  [
    "a client",
    async (run, name) => await (await run.client("own")).callTool({ name, arguments: {} }),
  ],
  [
    "a client's tools",
    async (run, tool) => callTool(await (await run.client("own")).tools(), tool),
  ],
];

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test.each(calls)("calls of %s go to a process that ends with the run", async (_, call) => {
  const { open } = start();
  const kept = new Set<number>();
  for (const aside of [new Set<number>(), new Set<number>()]) {
    const run = open();
    for (const tool of ["describe", "other", "describe", "other"]) {
      const { content } = (await call(run, tool)) as any;
      (tool === "other" ? aside : kept).add(JSON.parse(content[0].text).pid);
    }
    await run.dispose();
    expect([...aside].map(isRunning)).toEqual([false]);
    expect([...kept].map(isRunning)).toEqual([true]);
  }
});

test.each(["describe", "other"])("the loss of the process of %s is told", async (tool) => {
  const { open, events } = start("exit");
  await using run = open();
  const isTold = async () => {
    const result = await callTool(await run.tools(), `own__${tool}`);
    return "durable-mcp/sessionReplaced" in (result["_meta"] ?? {});
  };
  expect(await isTold()).toBe(false);
  await expect.poll(() => events.map(({ type }) => type)).toContain("lost");
  expect(await isTold()).toBe(true);
});
