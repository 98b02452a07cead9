/**
 * `npm run demo:agents`: in each of two processes a root agent and two sub-agents that work at once.
 * Each sub-agent has a browser of its own, the cart is everybody's. The browsers are stdio servers, and the
 * root agent's has a name. `-- --json` is for programs.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { AgentsReport } from "./step.ts";
import { needChromium } from "../programs/find-chromium.ts";
import { serveMarketPages } from "../servers/market-pages.ts";
import { runToJson } from "../programs/run-to-json.ts";
import { endProgram } from "../programs/start-program.ts";
import { cartServer, startServer } from "../programs/start-server.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";

const { json } = parseArgs({ options: { json: { type: "boolean" } } }).values;

const chromium = needChromium();

const folder = createTemporaryFolder();
const cart = await startServer(cartServer);
const pages = await serveMarketPages();

const say = (line: string) => json || console.log(line);
say(`
A root agent and two sub-agents at once, in two processes, one after the other. Each has two runs.

step  process  agent   its browser shows   and the cart`);
const reports: AgentsReport[] = [];
for (const step of [1, 2]) {
  const report = await runToJson<AgentsReport>(new URL("step.ts", import.meta.url), [
    ...[String(step), cart.url, chromium],
    ...[folder, pages.url, join(folder, "session.json")],
  ]);
  reports.push(report);
  if (json) console.log(JSON.stringify({ step, ...report }));
  const row = (start: string, agent: string, shows: string, cartColumn: string) =>
    say(`${start.padEnd(13)}  ${agent.padEnd(6)}  ${shows.padEnd(18)}  ${cartColumn}`);
  const [opened, found] = report.root;
  row(`${String(step).padStart(4)}  ${String(report.pid).padStart(7)}`, "root", opened, "");
  report.helpers.forEach(({ item, shows }, index) =>
    row("", `sub ${index + 1}`, shows, `+ ${item}`),
  );
  row("", "root", found, report.cart);
}
await endProgram(cart.child, "SIGTERM");
pages.close();

const [first, second] = reports as [AgentsReport, AgentsReport];
const shown = reports.flatMap(({ helpers }) => helpers.map(({ shows }) => shows));
assert.deepEqual(shown, ["The bakery", "The dairy", "The orchard", "The apiary"]);
const market = ["The market", "The market"];
assert.deepEqual([first.root, second.root], [market, market]);
assert.deepEqual(pages.loads, { market: 2, bakery: 1, dairy: 1, orchard: 1, apiary: 1 });
for (const item of ["bread", "milk", "apples", "honey"])
  assert.match(second.cart, new RegExp(item));
// The root agent's own, found again in the second run, and one for each of its sub-agents.
const browser = { made: 3, kept: 1 };
// The first run of all starts the session of the cart. The other three go on with it.
assert.deepEqual(first.sessions, { browser, cart: { made: 1, kept: 1 } });
assert.deepEqual(second.sessions, { browser, cart: { made: 0, kept: 2 } });
say(`
Isolated: each sub-agent had a browser of its own, which ended with it (2 a step).
Shared:   the cart is one session for the root agent and all four sub-agents, in both processes.
Named:    the root agent's browser. The second run of each process found the market open.
          A stdio server lives in its process: process 2 loaded the market once more.
`);
