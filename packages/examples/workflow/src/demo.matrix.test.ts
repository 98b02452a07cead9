import { expect, test } from "vitest";
import { postgresUnavailable, startPostgres } from "../../../stores/test/postgres-server.ts";
import { postgresUser } from "../../../stores/test/postgres-user.ts";
import { findChromium } from "../../src/programs/find-chromium.ts";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

if (postgresUnavailable !== undefined) console.warn(`skipped: ${postgresUnavailable}`);
const hasBrowser = findChromium() !== undefined;
if (!hasBrowser) console.warn("without a browser: there is no Chromium");

const demo = new URL("demo.ts", import.meta.url);
// Up to two runs of some twenty processes each.
const patience = 400_000;

test(
  "keeps one session a server, a browser among them; a client in each step keeps none",
  async () => {
    const [durable, without] = jsonLines<any>(await runDemo(demo, ["--json"]));
    expectDurable(durable, hasBrowser);
    expect(without.cart["initialize"]).toBeGreaterThan(4);
    expect(without.cartAtTheEnd).toBe("The cart is empty.");
    expect(without.orders).toEqual([]);
  },
  patience,
);

// The same on the other world, for which CI has no time: `npm run lab -- matrix` has both.
test.skipIf(postgresUnavailable ?? process.env["CI"] === "true")(
  "on PostgreSQL as well",
  async () => {
    const server = await startPostgres();
    try {
      const place = `postgres://${postgresUser}@127.0.0.1:${server.port}/postgres`;
      const args = ["--json", "--durable-only", "--postgres", place];
      // The browser is the same on both.
      const [durable] = jsonLines(await runDemo(demo, args, { CHROMIUM_PATH: "none" }));
      expectDurable(durable, false);
    } finally {
      await server.remove();
    }
  },
  patience,
);

/** One session a server, in two processes of the host and many of the steps. */
function expectDurable(durable: any, withBrowser: boolean): void {
  const seen = { initialize: 1, "notifications/initialized": 1, "tools/list": 1, "tools/call": 4 };
  expect(durable).toMatchObject({ hosts: 2, cart: seen });
  expect(durable.cartAtTheEnd).toBe("The cart holds apples, bread, milk.");
  expect(durable.stepProcesses).toBeGreaterThanOrEqual(5);
  expect(durable.browser).toEqual(withBrowser ? seen : undefined);
  expect(durable.orders).toEqual(withBrowser ? [{ name: "Ada", drink: "tea" }] : []);
}
