import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findChromium } from "../programs/find-chromium.ts";

const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
const noChromium = findChromium() === undefined;
if (noChromium) console.warn("skipped: demo:agents: there is no Chromium");

/** Runs the demo as `npm run demo:agents` does. */
async function runDemo(args: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, ["--conditions=@durable-mcp/source", demo, ...args], {
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

test.skipIf(noChromium)(
  "sub-agents have a browser each and share a cart, in two processes",
  async () => {
    const { stdout, stderr, exitCode } = await runDemo(["--json"]);
    expect(stderr).toBe("");
    expect(exitCode).toBe(0);
    const steps = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { pid: number; cart: string });
    expect(steps).toMatchObject([
      {
        step: 1,
        root: "The market",
        helpers: [
          { item: "bread", shows: "The bakery" },
          { item: "milk", shows: "The dairy" },
        ],
        sessions: { browser: { made: 3, kept: 0 }, cart: { made: 1, kept: 0 } },
      },
      {
        step: 2,
        root: "The market",
        helpers: [
          { item: "apples", shows: "The orchard" },
          { item: "honey", shows: "The apiary" },
        ],
        sessions: { browser: { made: 2, kept: 1 }, cart: { made: 0, kept: 1 } },
      },
    ]);
    for (const item of ["bread", "milk", "apples", "honey"]) expect(steps[1]!.cart).toContain(item);
    expect(steps[0]!.pid).not.toBe(steps[1]!.pid);
    expect(stdout).not.toMatch(/[\da-f]{8}-[\da-f]{4}-/i);
  },
);

test("says so when there is no Chromium", async () => {
  const { stderr, exitCode } = await runDemo([], { CHROMIUM_PATH: "/nowhere/chromium" });
  expect(stderr).toContain("needs a Chromium or Chrome, and there is none at /nowhere/chromium");
  expect(exitCode).toBe(1);
});
