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
import { findChromium } from "../../src/programs/find-chromium.ts";

if (postgresUnavailable !== undefined) console.warn(`skipped: ${postgresUnavailable}`);
const hasBrowser = findChromium() !== undefined;
if (!hasBrowser) console.warn("without a browser: there is no Chromium");

// Up to two runs of some twenty processes each.
const patience = 400_000;

test(
  "keeps one session a server over a process a step and a kill of the host",
  async () => {
    const [durable, without] = await runDemo();
    expectDurable(durable, hasBrowser);
    expect(without.cart["initialize"]).toBeGreaterThan(4);
    expect(without.cartAtTheEnd).toBe("The cart is empty.");
    expect(without.orders).toEqual([]);
  },
  patience,
);

test.skipIf(postgresUnavailable)(
  "on PostgreSQL as well",
  async () => {
    const server = await startPostgres();
    try {
      const place = `postgres://${postgresUser}@127.0.0.1:${server.port}/postgres`;
      // The browser is the same on both.
      const env = { CHROMIUM_PATH: "none" };
      const [durable] = await runDemo(["--durable-only", "--postgres", place], env);
      expectDurable(durable, false);
    } finally {
      await server.remove();
    }
  },
  patience,
);

function expectDurable(durable: any, withBrowser: boolean): void {
  const seen = { initialize: 1, "notifications/initialized": 1, "tools/list": 1, "tools/call": 4 };
  expect(durable).toMatchObject({ hosts: 2, cart: seen });
  expect(durable.cartAtTheEnd).toBe("The cart holds apples, bread, milk.");
  expect(durable.stepProcesses).toBeGreaterThanOrEqual(5);
  expect(durable.browser).toEqual(withBrowser ? seen : undefined);
  expect(durable.orders).toEqual(withBrowser ? [{ name: "Ada", drink: "tea" }] : []);
}

async function runDemo(args: string[] = [], env: Record<string, string> = {}): Promise<any[]> {
  const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
  const child = spawn(
    process.execPath,
    ["--conditions=@durable-mcp/source", demo, "--json", ...args],
    { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] },
  );
  const [stdout, [exitCode]] = await Promise.all([text(child.stdout), once(child, "close")]);
  expect(exitCode).toBe(0);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}
