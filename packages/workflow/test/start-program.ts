import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inject, onTestFinished } from "vitest";

const program = fileURLToPath(new URL("run-program.ts", import.meta.url));

/** A process that runs the app, and the lines it prints. */
export function startProgram(dataDir: string, args: string[], env: Record<string, string>) {
  const app = JSON.stringify(inject("workflowApp"));
  const child = spawn(
    process.execPath,
    ["--conditions=@durable-mcp/source", program, app, dataDir, ...args],
    {
      env: { ...process.env, NODE_OPTIONS: "", ...env },
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

export async function killHard(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

/** A folder that is gone when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-killed-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
