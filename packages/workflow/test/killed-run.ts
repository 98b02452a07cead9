import { once } from "node:events";
import { join } from "node:path";
import { expect, inject, onTestFinished, vi } from "vitest";
import { type NotebookServer, startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { killHard, startJsonProgram, temporaryFolder } from "./json-program.ts";
import { add, alice, list, type ScriptedResult } from "./test-app.ts";

type JsonProgram = ReturnType<typeof startJsonProgram>;

/** A process that runs the app. */
function startApp(dataDir: string, args: string[], env: Record<string, string>) {
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

async function untilDead(_: unknown, { child }: Pick<JsonProgram, "child">): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** When a process dies: while the run sleeps, or before or after a step. */
export type Death = "asleep" | `${"before" | "after"} ${string}`;

/**
 * A run of one call whose processes die one after the other. The last one ends it.
 *
 * @param given.answers what those who do not die asleep answer the server's questions
 * @param given.whenAsleep called when a process has died asleep
 */
export async function runThroughDeaths(
  { isStored, ...run }: { readonly isStored: boolean; readonly turns: readonly unknown[] },
  deaths: readonly Death[],
  given: { env: Record<string, string>; answers: string; whenAsleep?: () => Promise<unknown> },
): Promise<unknown> {
  const dataDir = temporaryFolder();
  const args = [JSON.stringify({ principal: alice, ...run, isStored, isFragile: true })];
  const store = isStored && { STORE_PATH: join(dataDir, "sessions.db") };
  const start = (own: Record<string, string>) =>
    startApp(dataDir, args, { ...given.env, ...store, ...own });
  const { answers: ANSWERS, whenAsleep } = given;
  for (const death of deaths) {
    const { child, next } = start({ ...(death !== "asleep" && { ANSWERS, DIE_AT: death }) });
    const { runId } = await next();
    args[1] = String(runId);
    if (death === "asleep") {
      while ((await next())["asked"] === undefined);
      await killHard(child);
      await whenAsleep?.();
    } else {
      await untilDead(undefined, { child });
    }
  }
  const { next } = start({ ANSWERS });
  for (;;) {
    const { result } = await next();
    if (result !== undefined) return result.results[0][0];
  }
}

/** How often the server was sent a call of a tool. */
export const callsOf = (server: NotebookServer, tool: string) =>
  server.requests.filter(({ message }) => message?.params?.name === tool).length;
