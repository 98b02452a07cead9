import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, inject, onTestFinished, vi } from "vitest";
import { type NotebookServer, startNotebookServer } from "../../ai-sdk/test/notebook-server.ts";
import { add, alice, list, type ScriptedResult } from "./test-app.ts";

const program = fileURLToPath(new URL("run-program.ts", import.meta.url));

/** A process that runs the app, and the lines it prints. */
function startProgram(
  server: NotebookServer,
  session: unknown,
  dataDir: string,
  args: string[],
  env: Record<string, string> = {},
) {
  const child = spawn(
    process.execPath,
    [
      "--conditions=@durable-mcp/source",
      program,
      JSON.stringify(inject("workflowApp")),
      dataDir,
      ...args,
    ],
    {
      env: {
        ...process.env,
        NOTEBOOK_URL: server.url,
        NOTEBOOK_SESSION: JSON.stringify(session),
        NODE_OPTIONS: "",
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  let errors = "";
  child.stderr.on("data", (chunk) => (errors += String(chunk)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    for (;;) {
      const { done, value } = await lines.next();
      if (done) throw new Error(`The program ended: ${errors}`);
      if (value.startsWith("{")) return JSON.parse(value) as Record<string, any>;
    }
  };
  return { child, next };
}

async function killHard(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

/** A run that is killed while the server works on the call of `wait`, and goes on in another process. */
export async function killDuringCall(
  session: unknown,
  further: object = {},
): Promise<{
  server: NotebookServer;
  results: ScriptedResult["results"];
}> {
  const server = await startNotebookServer();
  const dataDir = mkdtempSync(join(tmpdir(), "durable-mcp-killed-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const turns = [[add("milk")], [{ tool: "notes__wait" }], [list]];
  const options = JSON.stringify({ connections: ["notes"], principal: alice, turns, ...further });
  const first = startProgram(server, session, dataDir, [options]);
  const { runId } = await first.next();
  await vi.waitFor(() => expect(server.waits).toContain("started"), { timeout: 60_000 });
  await killHard(first.child);

  const second = startProgram(server, session, dataDir, [options, String(runId)]);
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
  const dataDir = mkdtempSync(join(tmpdir(), "durable-mcp-killed-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const turns = [[list], [add("milk")], [list]];
  const run = { connections: ["notes"], principal: alice, turns, isFragile: true };
  const options = JSON.stringify(run);
  const env = { DIE_AT: `${when} add_note` };
  const first = startProgram(server, session, dataDir, [options], env);
  const { runId } = await first.next();
  await once(first.child, "exit");

  const second = startProgram(server, session, dataDir, [options, String(runId)]);
  await second.next();
  const { result } = (await second.next()) as { result: ScriptedResult };
  return { server, results: result.results };
}
