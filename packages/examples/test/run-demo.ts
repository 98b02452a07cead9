import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";

/** Session ids of these servers look like this; a demo prints none. */
export const uuid = /[\da-f]{8}-[\da-f]{4}-/i;

/** Runs a demo to its good end, as `npm run` does but with the scripted model, and gives what it printed. */
export async function runDemo(
  demo: URL,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stdout, stderr, exitCode } = await startDemo(demo, args, env);
  if (exitCode !== 0) throw new Error(`The demo ended with ${exitCode}: ${stderr}`);
  expect(stdout).not.toMatch(uuid);
  return stdout;
}

/** Runs a demo to whatever end. */
export async function startDemo(
  demo: URL,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<{ stdout: string; stderr: string; exitCode: number | null }> {
  const flags = ["--conditions=@durable-mcp/source"];
  const child = spawn(process.execPath, [...flags, fileURLToPath(demo), ...args], {
    env: { ...process.env, DURABLE_MCP_MODEL: "", NODE_NO_WARNINGS: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { stdout, stderr, exitCode: exitCode as number | null };
}

/** What a demo prints with `--json`. */
export function jsonLines<LINE = unknown>(stdout: string): LINE[] {
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as LINE);
}
