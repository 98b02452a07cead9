import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { runProgram } from "../src/program.ts";

/** Runs a demo in its processes, with an event log. Returns the path of the log. */
export function logOfDemo(name: "cart" | "person", folder: string): string {
  const demo = fileURLToPath(new URL(`../../examples/src/${name}/demo.ts`, import.meta.url));
  const log = join(folder, `${name}.jsonl`);
  execFileSync(
    process.execPath,
    ["--conditions=@durable-mcp/source", demo, "--json", "--events", log],
    {
      env: { ...process.env, DURABLE_MCP_MODEL: "", NODE_NO_WARNINGS: "1" },
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  return log;
}

/** Runs `durable-mcp timeline`. @throws if it fails */
export async function drawTimeline(...argv: readonly string[]): Promise<void> {
  let stderr = "";
  const output = { writeOut: () => undefined, writeErr: (text: string) => (stderr += text) };
  const exitCode = await runProgram(["timeline", ...argv], { version: "0.0.0", output });
  if (exitCode !== 0) throw new Error(stderr);
}

/** Opens a page from its file. */
export async function openFile(
  browser: Browser,
  path: string,
  screen: { readonly width: number; readonly colorScheme: "light" | "dark" },
): Promise<Page> {
  const { width, colorScheme } = screen;
  const page = await browser.newPage({
    ...{ viewport: { width, height: 844 }, colorScheme, deviceScaleFactor: width < 500 ? 2 : 1 },
  });
  await page.goto(`file://${path}`);
  return page;
}
