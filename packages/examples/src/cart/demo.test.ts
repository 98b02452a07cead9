import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  postgresUnavailable,
  postgresUser,
  startPostgres,
} from "../../../stores/test/postgres-server.ts";
import { redisUnavailable, startRedis } from "../../../stores/test/redis-server.ts";

for (const reason of [postgresUnavailable, redisUnavailable]) {
  if (reason !== undefined) console.warn(`skipped: ${reason}`);
}

const uuid = /[\da-f]{8}-[\da-f]{4}-/i;

test("keeps one session over processes, and recovers once from a restart of the server", async () => {
  const { stdout, exitCode } = await runDemo("--json");
  expect(exitCode).toBe(0);
  const lines = stdout.trim().split("\n").map(parseLine);

  expect(lines).toEqual([
    {
      ...started(1, 1),
      calls: 2,
      // The handshake takes two requests and the tool list one.
      requests: 5,
      text: "The cart holds apples, bread.",
    },
    { ...resumed(2, 1), calls: 1, requests: 1, text: "The cart holds apples, bread, milk." },
    { ...resumed(3, 1), calls: 1, requests: 1, text: "The cart holds apples, milk." },
    {
      ...started(4, 2),
      recovered: true,
      calls: 1,
      // The refused call, the handshake and the tool list, the call again.
      requests: 5,
      text: "The cart is empty. The shop has forgotten it.",
    },
    { ...resumed(5, 2), calls: 3, requests: 3, text: "The cart holds apples, milk." },
  ]);
  expect(new Set(lines.map(({ pid }) => pid)).size).toBe(5);
  expect(stdout).not.toMatch(uuid);
});

test("shows people a table of less than 100 columns, without session ids", async () => {
  const { stdout, exitCode } = await runDemo();
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^ +2 +\d+ {2}add_item\(milk\) +1 \(kept\) +1 for 1 call$/m);
  expect(stdout).toMatch(/^ +4 +\d+ {2}list_items\(\) +2 \(new\) +5 for 1 call$/m);
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThan(100);
  expect(stdout).not.toMatch(uuid);
});

function started(step: number, session: number): object {
  return { step, pid: expect.any(Number) as unknown, session, resumed: false, recovered: false };
}

function resumed(step: number, session: number): object {
  return { ...started(step, session), resumed: true };
}

function parseLine(line: string): { pid: number } {
  return JSON.parse(line) as { pid: number };
}

test.skipIf(redisUnavailable)("keeps the session in Redis as well", async () => {
  const server = await startRedis();
  try {
    const { stdout, exitCode } = await runDemo(
      "--json",
      "--store",
      `redis://127.0.0.1:${server.port}`,
    );
    expect(exitCode).toBe(0);
    expect(stdout.trim().split("\n")).toHaveLength(5);
  } finally {
    await server.remove();
  }
});

test.skipIf(postgresUnavailable)("keeps the session in PostgreSQL as well", async () => {
  const server = await startPostgres();
  try {
    const { stdout, exitCode } = await runDemo(
      "--json",
      "--store",
      `postgres://${postgresUser}@127.0.0.1:${server.port}/postgres`,
    );
    expect(exitCode).toBe(0);
    expect(stdout.trim().split("\n")).toHaveLength(5);
  } finally {
    await server.remove();
  }
});

async function runDemo(...args: string[]): Promise<{ stdout: string; exitCode: number | null }> {
  const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@durable-mcp/source", demo, ...args], {
    env: { ...process.env, DURABLE_MCP_MODEL: "" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [stdout, [exitCode]] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { stdout, exitCode: exitCode as number | null };
}
