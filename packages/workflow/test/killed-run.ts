import { once } from "node:events";
import { expect, inject, onTestFinished, vi } from "vitest";
import { type NotebookServer, startNotebookServer } from "../../ai-sdk/test/notebook-server.ts";
import { killHard, startJsonProgram, temporaryFolder } from "./json-program.ts";
import { add, alice, list, type ScriptedResult } from "./test-app.ts";

type JsonProgram = ReturnType<typeof startJsonProgram>;

/** A process that runs the app. */
export function startApp(dataDir: string, args: string[], env: Record<string, string>) {
  const app = JSON.stringify(inject("workflowApp"));
  return startJsonProgram(new URL("run-program.ts", import.meta.url), [app, dataDir, ...args], env);
}

/** A run that begins in a process, which ends in some way, and goes on in another one. */
async function runInTwo(
  { session, ...run }: { readonly session: unknown; readonly turns: readonly unknown[] },
  endFirst: (server: NotebookServer, first: JsonProgram) => Promise<void>,
  env: Record<string, string> = {},
): Promise<{ server: NotebookServer; results: ScriptedResult["results"] }> {
  const server = await startNotebookServer();
  const dataDir = temporaryFolder();
  const own = { NOTEBOOK_URL: server.url, NOTEBOOK_SESSION: JSON.stringify(session) };
  const options = JSON.stringify({ connections: ["notes"], principal: alice, ...run });
  const first = startApp(dataDir, [options], { ...own, ...env });
  const { runId } = await first.next();
  await endFirst(server, first);

  const second = startApp(dataDir, [options, String(runId)], own);
  await second.next();
  const { result } = (await second.next()) as { result: ScriptedResult };
  return { server, results: result.results };
}

/** A run that is killed while the server works on the call of `wait`, and goes on in another process. */
export async function killDuringCall(session: unknown, further: object = {}) {
  const turns = [[add("milk")], [{ tool: "notes__wait" }], [list]];
  return await runInTwo({ session, turns, ...further }, async (server, { child }) => {
    await vi.waitFor(() => expect(server.waits).toContain("started"), { timeout: 60_000 });
    await killHard(child);
    const releasing = setInterval(() => {
      if (server.waits.filter((event) => event === "started").length > 1) server.release();
    }, 50);
    onTestFinished(() => clearInterval(releasing));
  });
}

/** A run whose process dies before it sends the second call, or when it has the answer to it. */
export async function dieAround(when: "before" | "after", session: unknown) {
  const run = { session, turns: [[list], [add("milk")], [list]], isFragile: true };
  return await runInTwo(run, untilDead, { DIE_AT: `${when} add_note` });
}

async function untilDead(_: NotebookServer, { child }: JsonProgram): Promise<void> {
  await once(child, "exit");
}

/** How often the server was sent a call of a tool. */
export const callsOf = (server: NotebookServer, tool: string) =>
  server.requests.filter(({ message }) => message?.params?.name === tool).length;
