import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { installed } from "./coding-agents.ts";

/** An agent of a library whose MCP client takes no `fetch`. */
export interface SdkAgent {
  readonly name: string;
  readonly version: string;
  /** What it needs beside it. */
  readonly others?: readonly string[];
  /** In `packages/e2e/compatibility/agents`. */
  readonly program: string;
}

export const sdkAgents: readonly SdkAgent[] = [
  {
    name: "@anthropic-ai/claude-agent-sdk",
    version: "0.3.332",
    program: "claude-agent-sdk.mjs",
  },
  { name: "@voltagent/core", version: "2.10.0", others: ["zod@4"], program: "voltagent.mjs" },
  {
    name: "@inngest/agent-kit",
    version: "0.13.2",
    others: ["inngest@3", "zod@4"],
    program: "agent-kit.mjs",
  },
];

/** Runs its program to its end, with nothing of this environment. */
export async function runSdkAgent(
  agent: SdkAgent,
  { model, server }: { readonly model: string; readonly server: string },
  timeoutMs: number,
): Promise<void> {
  const folder = dirname(await installed(agent));
  const program = join(folder, agent.program);
  const source = new URL(`../../../compatibility/agents/${agent.program}`, import.meta.url);
  copyFileSync(fileURLToPath(source), program);
  const home = mkdtempSync(join(tmpdir(), "durable-mcp-agent-"));
  const env = { PATH: process.env["PATH"] ?? "", HOME: home };
  const options = { cwd: home, env, timeout: timeoutMs, killSignal: "SIGKILL" as const };
  const running = promisify(execFile)(process.execPath, [program, model, server], options);
  running.child.stdin?.end();
  await running.catch(() => undefined);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
