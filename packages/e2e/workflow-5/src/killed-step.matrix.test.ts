import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { startNotebookServer } from "../../../ai-sdk/test/notebook-server.ts";
import { buildApp } from "./run-app.ts";

const program = fileURLToPath(new URL("run-program.ts", import.meta.url));

/** A process that runs the app, and the lines of JSON that it prints. */
function startProgram(url: string, args: string[]) {
  const child = spawn(process.execPath, ["--conditions=@durable-mcp/source", program, ...args], {
    env: {
      ...process.env,
      NOTEBOOK_URL: url,
      NODE_OPTIONS: "",
      // For how long the engine leaves a step to a process that may still be at it.
      WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS: "3",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    for (;;) {
      const { done, value } = await lines.next();
      if (done) throw new Error("The program ended.");
      if (value.startsWith('{"')) return JSON.parse(value) as Record<string, any>;
    }
  };
  return { child, next };
}

test("a call that was interrupted by kill -9 is not made again, and the session goes on", async () => {
  const app = await buildApp("killed-step");
  const server = await startNotebookServer();
  const dataDir = mkdtempSync(join(tmpdir(), "durable-mcp-killed-5-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const turns = [
    [{ tool: "notes__add_note", input: { text: "milk" } }],
    [{ tool: "notes__wait" }],
    [{ tool: "notes__list_notes" }],
  ];
  const principal = { type: "user", issuer: "https://idp.test", id: "alice" };
  const options = JSON.stringify({ principal, prompt: JSON.stringify(turns) });
  const args = [JSON.stringify(app), dataDir, options];

  const first = startProgram(server.url, args);
  const { runId } = await first.next();
  await vi.waitFor(() => expect(server.waits).toContain("started"), { timeout: 60_000 });
  const gone = once(first.child, "exit");
  first.child.kill("SIGKILL");
  await gone;

  const second = startProgram(server.url, [...args, String(runId)]);
  await second.next();
  const { result } = await second.next();
  const outputs = result.messages
    .filter(({ role }: { role: string }) => role === "tool")
    .flatMap(({ content }: any) => content.map(({ output }: any) => output));
  expect(JSON.stringify(outputs[1])).toContain("OUTCOME_UNKNOWN: ");
  expect(JSON.stringify(outputs[2])).toContain("milk");
  const calls = server.requests.flatMap(({ message }) => message?.params?.name ?? []);
  expect(calls).toEqual(["add_note", "wait", "list_notes"]);
  expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
});
