import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";
import { startCountingProxy } from "../servers/counting-proxy.ts";

const mastra = fileURLToPath(new URL("../../mastra/", import.meta.url));
const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
  cwd: mastra,
  stdio: "ignore",
});
if (status !== 0) console.warn("skipped: Mastra could not be installed");

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-migrating-"));
let server: ChildProcess;
let proxy: Awaited<ReturnType<typeof startCountingProxy>>;

beforeAll(async () => {
  const port = await findFreePort();
  const program = fileURLToPath(new URL("../servers/cart-server.ts", import.meta.url));
  server = spawn(process.execPath, [program, String(port)], { stdio: "ignore" });
  await waitForPort(port);
  proxy = await startCountingProxy(`http://127.0.0.1:${port}/mcp`);
});

afterAll(async () => {
  await proxy.close();
  server.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** Three processes: apples, bread, and a look into the cart. */
const calls = [
  ["add_item", { item: "apples" }],
  ["add_item", { item: "bread" }],
  ["list_items", {}],
] as const;

async function threeSteps(program: string, library: string) {
  const before = { ...proxy.counts };
  const file = join(folder, crypto.randomUUID());
  let said = "";
  for (const [tool, input] of calls) {
    const args = [program, library, proxy.url, tool, JSON.stringify(input), file];
    const child = spawn(process.execPath, ["--conditions=@durable-mcp/source", ...args], {
      env: { ...process.env, NODE_NO_WARNINGS: "1" },
      stdio: ["ignore", "pipe", "inherit"],
      cwd: fileURLToPath(new URL(".", import.meta.url)),
    });
    const [stdout, [exitCode]] = await Promise.all([text(child.stdout), once(child, "close")]);
    expect(exitCode).toBe(0);
    said = /The cart [^."]*\./.exec(stdout)?.[0] ?? stdout;
  }
  const of = (method: string) => (proxy.counts[method] ?? 0) - (before[method] ?? 0);
  const requests = Object.keys(proxy.counts).reduce((sum, method) => sum + of(method), 0);
  return { sessions: of("initialize"), ended: of("DELETE"), requests, said };
}

const empty = "The cart is empty.";
const full = "The cart holds apples, bread.";
// The handshake takes two requests and the list one, once; the calls three.
const after = { sessions: 1, ended: 0, requests: 6, said: full };

describe("three steps with one tool call each, a process each", () => {
  test.for([
    ["@ai-sdk/mcp", { sessions: 3, ended: 3, requests: 24, said: empty }],
    ["@ai-sdk/mcp, its session options", { sessions: 1, ended: 0, requests: 13, said: full }],
    ["@langchain/mcp-adapters", { sessions: 3, ended: 0, requests: 15, said: empty }],
  ] as const)("before, with %s", async ([library, expected]) => {
    expect(await threeSteps("before.ts", library)).toEqual(expected);
  });

  test.skipIf(status !== 0)("before, with @mastra/mcp", async () => {
    const expected = { sessions: 3, ended: 0, requests: 18, said: empty };
    expect(await threeSteps("../../mastra/before.mjs", "@mastra/mcp")).toEqual(expected);
  });

  test.skipIf(status !== 0)("after, with Mastra's client on a connection's fetch", async () => {
    expect(await threeSteps("../../mastra/after.mjs", "@mastra/mcp")).toEqual(after);
  });

  test.for(["@ai-sdk/mcp", "@langchain/mcp-adapters"])("after, from %s", async (library) => {
    expect(await threeSteps("after.ts", library)).toEqual(after);
  });
});

test.skipIf(status !== 0)(
  "a Mastra workflow whose worker is killed in a call goes on in its session, and with a mark calls once",
  () => {
    const args = ["--conditions=@durable-mcp/source", join(mastra, "killed.mjs")];
    const env = { ...process.env, NODE_OPTIONS: "" };
    const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8", env });
    const told = stdout.split("\n").filter((line) => line.includes("initialize"));
    expect(told).toEqual([
      "no mark: tea, milk, milk; 1 initialize",
      "mark: tea, milk; 1 initialize",
    ]);
  },
);
