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
import { findChromium } from "../../src/find-chromium.ts";

if (postgresUnavailable !== undefined) console.warn(`skipped: ${postgresUnavailable}`);
const hasBrowser = findChromium() !== undefined;
if (!hasBrowser) console.warn("without a browser: there is no Chromium");

// Two runs of some twenty processes each.
const patience = 400_000;

test(
  "keeps one session a server over a process a step and a kill of the host",
  async () => expectDemo(await runDemo()),
  patience,
);

test.skipIf(postgresUnavailable)(
  "on PostgreSQL as well",
  async () => {
    const server = await startPostgres();
    try {
      const place = `postgres://${postgresUser}@127.0.0.1:${server.port}/postgres`;
      expectDemo(await runDemo("--postgres", place));
    } finally {
      await server.remove();
    }
  },
  patience,
);

function expectDemo([durable, without]: any[]): void {
  const seen = { initialize: 1, "notifications/initialized": 1, "tools/list": 1, "tools/call": 4 };
  expect(durable).toMatchObject({ hosts: 2, cart: seen });
  expect(durable.cartAtTheEnd).toBe("The cart holds apples, bread, milk.");
  expect(durable.stepProcesses).toBeGreaterThanOrEqual(5);
  expect(without.cart["initialize"]).toBeGreaterThan(4);
  expect(without.cartAtTheEnd).toBe("The cart is empty.");
  const orders = [{ name: "Ada", drink: "tea" }];
  expect(durable.browser).toEqual(hasBrowser ? seen : undefined);
  expect(durable.orders).toEqual(hasBrowser ? orders : []);
  expect(without.orders).toEqual([]);
}

async function runDemo(...args: string[]): Promise<any[]> {
  const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
  const child = spawn(
    process.execPath,
    ["--conditions=@durable-mcp/source", demo, "--json", ...args],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const [stdout, [exitCode]] = await Promise.all([text(child.stdout), once(child, "close")]);
  expect(exitCode).toBe(0);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}
