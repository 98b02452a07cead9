import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A process of its own, which is gone when the test ends, and the lines of JSON that it prints. */
export function startJsonProgram(
  program: URL,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
) {
  const child = spawn(
    process.execPath,
    ["--conditions=@durable-mcp/source", fileURLToPath(program), ...args],
    { env: { ...process.env, NODE_OPTIONS: "", ...env }, stdio: ["ignore", "pipe", "pipe"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  let errors = "";
  child.stderr.on("data", (chunk) => (errors += String(chunk)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    for (;;) {
      const { done, value } = await lines.next();
      if (done) throw new Error(`The program ended: ${errors}`);
      if (value.startsWith('{"')) return JSON.parse(value) as Record<string, any>;
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
