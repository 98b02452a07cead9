import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const program = fileURLToPath(new URL("run-program.ts", import.meta.url));

/** A process that runs the app, and the lines of JSON that it prints. */
export function startProgram(args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, ["--conditions=@durable-mcp/source", program, ...args], {
    env: {
      ...process.env,
      NODE_OPTIONS: "",
      // For how long the engine leaves a step to a process that may still be at it.
      WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS: "3",
      ...env,
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

export async function killHard(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

/** A folder that is gone when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-killed-5-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** What a tool gave, in the messages of a turn, as the model sees it. */
export function outputsIn(result: any): any[] {
  return result.messages
    .filter(({ role }: { role: string }) => role === "tool")
    .flatMap(({ content }: any) => content.map(({ output }: any) => output));
}
