import { once } from "node:events";
import { expect, onTestFinished, vi } from "vitest";
import { type NotebookServer, startNotebookServer } from "../../ai-sdk/test/notebook-server.ts";
import { killHard, startProgram, temporaryFolder } from "./start-program.ts";
import { add, alice, list, type ScriptedResult } from "./test-app.ts";

/** What a process needs to know of the notebook server. */
const environment = (server: NotebookServer, session: unknown) => ({
  NOTEBOOK_URL: server.url,
  NOTEBOOK_SESSION: JSON.stringify(session),
});

/** A run that is killed while the server works on the call of `wait`, and goes on in another process. */
export async function killDuringCall(
  session: unknown,
  further: object = {},
): Promise<{
  server: NotebookServer;
  results: ScriptedResult["results"];
}> {
  const server = await startNotebookServer();
  const dataDir = temporaryFolder();
  const own = environment(server, session);
  const turns = [[add("milk")], [{ tool: "notes__wait" }], [list]];
  const options = JSON.stringify({ connections: ["notes"], principal: alice, turns, ...further });
  const first = startProgram(dataDir, [options], own);
  const { runId } = await first.next();
  await vi.waitFor(() => expect(server.waits).toContain("started"), { timeout: 60_000 });
  await killHard(first.child);

  const second = startProgram(dataDir, [options, String(runId)], own);
  await second.next();
  const releasing = setInterval(() => {
    if (server.waits.filter((event) => event === "started").length > 1) server.release();
  }, 50);
  onTestFinished(() => clearInterval(releasing));
  const { result } = await second.next();
  return { server, results: result.results };
}

/** How often the server was sent a call of a tool. */
export const callsOf = (server: NotebookServer, tool: string) =>
  server.requests.filter(({ message }) => message?.params?.name === tool).length;

/** A run whose process dies before it sends the second call, or when it has the answer to it. */
export async function dieAround(when: "before" | "after", session: unknown) {
  const server = await startNotebookServer();
  const dataDir = temporaryFolder();
  const own = environment(server, session);
  const turns = [[list], [add("milk")], [list]];
  const run = { connections: ["notes"], principal: alice, turns, isFragile: true };
  const options = JSON.stringify(run);
  const env = { DIE_AT: `${when} add_note` };
  const first = startProgram(dataDir, [options], { ...own, ...env });
  const { runId } = await first.next();
  await once(first.child, "exit");

  const second = startProgram(dataDir, [options, String(runId)], own);
  await second.next();
  const { result } = (await second.next()) as { result: ScriptedResult };
  return { server, results: result.results };
}
