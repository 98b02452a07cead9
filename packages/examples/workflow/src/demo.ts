/**
 * `npm run demo:workflow`: an agent in a durable run, every step a process of its own. The host of the
 * run is killed (`kill -9`) in the middle and started again. Then the same with a client in each step,
 * which is what a run can do without durable-mcp.
 *
 * `-- --postgres postgres://…` keeps the run there instead of in a folder, `-- --durable-only` leaves
 * out the comparison, `-- --json` is for programs.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findChromium } from "../../src/programs/find-chromium.ts";
import { serveOrderPage } from "../../src/servers/order-page.ts";
import { endProgram } from "../../src/programs/start-program.ts";
import { cartServer, startServer } from "../../src/programs/start-server.ts";
import { createTemporaryFolder } from "../../src/programs/temporary-folder.ts";
import { startPlaywrightServer } from "../../src/servers/playwright-server.ts";
import type { Turn } from "./app/order-model.ts";
import { buildApp } from "./build-app.ts";
import { startCountingProxy } from "../../src/servers/counting-proxy.ts";
import { createHost } from "./host-process.ts";

const { json, postgres, ...only } = parseArgs({
  options: {
    json: { type: "boolean" },
    postgres: { type: "string" },
    "durable-only": { type: "boolean" },
  },
}).values;
const say = (text: string) => {
  if (!json) console.log(text);
};

const folder = createTemporaryFolder();
const place = postgres ?? join(folder, "runs");
if (postgres !== undefined) {
  const setUp = fileURLToPath(
    new URL("../bin/setup.js", import.meta.resolve("@workflow/world-postgres")),
  );
  const env = { ...process.env, WORKFLOW_POSTGRES_URL: postgres };
  execFileSync(process.execPath, [setUp], { env, stdio: "ignore" });
}
const workflowIds = await buildApp();

const chromium = findChromium();
const page = await serveOrderPage();
const type = (target: string, text: string) => ({
  tool: "browser__browser_type",
  input: { target, text },
});
const inBrowser: Turn[] = [
  [{ tool: "browser__browser_navigate", input: { url: page.url } }],
  [type("#name", "Ada")],
  [type("#drink", "tea")],
  [{ tool: "browser__browser_click", input: { target: "#send" } }],
];
const inCart: Turn[] = [
  [{ tool: "cart__add_item", input: { item: "apples" } }],
  [{ tool: "cart__add_item", input: { item: "bread" } }],
  [{ tool: "cart__add_item", input: { item: "milk" } }],
  [{ tool: "cart__list_items", input: {} }],
];
const turns = inCart.map((calls, index) => [...calls, ...(chromium ? inBrowser[index]! : [])]);

/** Starts the servers anew, lets the workflow run on them, and kills its host on the way. */
async function runWorkflow(workflow: string) {
  const cart = await startServer(cartServer);
  const cartProxy = await startCountingProxy(cart.url);
  const browser = chromium === undefined ? undefined : await startBrowser(chromium);
  const [loadsBefore, ordersBefore] = [page.visits.loads, page.visits.orders.length];

  const host = createHost({
    place,
    env: {
      CART_URL: cartProxy.url,
      BROWSER_URL: browser?.proxy.url ?? "http://127.0.0.1:1/mcp",
      SEALING_KEY: randomBytes(32).toString("base64"),
      // Forty processes load the same modules.
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(folder, "compiled"),
    },
    onStep: ({ pid, step }) => say(`${String(pid).padStart(7)}  ${step}`),
  });
  await host.start();
  const runId = await host.startRun(workflowIds[workflow]!, {
    principal: { type: "user", issuer: "https://shop.example", id: "42" },
    connections: ["cart", ...(browser ? ["browser"] : [])],
    prompt: JSON.stringify(turns),
  });
  // The agent is about to take its third turn then.
  await host.untilCalls(2 * turns[0]!.length);
  await host.kill();
  say("         ✂ The host is killed (kill -9) and started again.");
  await host.start();
  const { answers } = (await host.result(runId)) as { answers: string[] };
  await host.kill();

  await endProgram(cart.child, "SIGTERM");
  if (browser) await endProgram(browser.child, "SIGTERM");
  await cartProxy.close();
  await browser?.proxy.close();
  return {
    workflow,
    hosts: host.pids.length,
    stepProcesses: new Set(host.steps.map(({ pid }) => pid)).size,
    cart: cartProxy.counts,
    ...(browser && { browser: browser.proxy.counts }),
    loads: page.visits.loads - loadsBefore,
    orders: page.visits.orders.slice(ordersBefore),
    cartAtTheEnd: answers.findLast((text) => text.startsWith("The cart")),
  };
}

async function startBrowser(executable: string) {
  const { child, url } = await startPlaywrightServer(folder, executable);
  return { child, proxy: await startCountingProxy(url) };
}

function describe({ cart, browser, ...result }: Awaited<ReturnType<typeof runWorkflow>>): void {
  if (json) return console.log(JSON.stringify({ ...result, cart, browser }));
  const { hosts, stepProcesses, cartAtTheEnd, loads, orders } = result;
  console.log(`
${stepProcesses} processes for the steps, ${hosts} for the host.
cart     ${requests(cart)}. ${cartAtTheEnd}`);
  if (browser === undefined) return;
  const order = orders.map(({ name, drink }) => `${drink} for ${name}`).join(", ") || "none";
  console.log(`browser  ${requests(browser)}. Page loaded: ${loads}. Orders: ${order}.`);
}

function requests(counts: Record<string, number>): string {
  const { initialize = 0, "tools/call": calls = 0 } = counts;
  return `${initialize} initialize for ${calls} calls`;
}

say(`
An agent in a durable run on ${postgres === undefined ? "the local world" : "PostgreSQL"}, with a shopping cart${chromium ? " and a browser" : ""}.
The language model is scripted.${chromium ? "" : " There is no Chromium on this machine, so no browser."}

With durable-mcp: one MCP session a server.

process  step`);
const durable = await runWorkflow("orderDrinks");
describe(durable);
assert.equal(durable.cart["initialize"], 1, "sessions of the cart");
assert.equal(durable.cartAtTheEnd, "The cart holds apples, bread, milk.");
assert(durable.stepProcesses >= 5, "processes");
if (chromium) {
  assert.equal(durable.browser?.["initialize"], 1, "sessions of the browser");
  assert.equal(durable.loads, 1, "loads of the page");
  assert.deepEqual(durable.orders, [{ name: "Ada", drink: "tea" }]);
}

if (!only["durable-only"]) {
  say(`
Without: a client in each step.

process  step`);
  const without = await runWorkflow("orderDrinksWithout");
  describe(without);
  assert.equal(without.cartAtTheEnd, "The cart is empty.");
  assert.deepEqual(without.orders, []);
  say(`
With a client in each step every call met an empty cart${chromium ? " and a blank page" : ""}. With durable-mcp the steps
went on where the ones before had stopped, also after the kill.`);
}
say("");
page.close();
