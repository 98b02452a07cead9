/**
 * `npm run demo:browser`: a browser that stays open while an agent works in four steps, each a
 * process of its own, with pauses in between. `-- --json` is for programs, `-- --without` shows
 * what happens with the AI SDK alone.
 */
import assert from "node:assert/strict";
import { constants, copyFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { loadSession } from "../steps/agent-session.ts";
import { needChromium } from "../programs/find-chromium.ts";
import { serveOrderPage } from "../servers/order-page.ts";
import { startPlaywrightServer } from "../servers/playwright-server.ts";
import { endProgram } from "../programs/start-program.ts";
import { jsonOutput, tableOutput } from "../steps/step-output.ts";
import { createStepRunner, type StepResult } from "../steps/step-runner.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";

const pauseSeconds = 8;

const { json, without } = parseArgs({
  options: { json: { type: "boolean" }, without: { type: "boolean" } },
}).values;
const output = json ? jsonOutput : tableOutput;

const chromium = needChromium();

const folder = createTemporaryFolder();
const server = await startPlaywrightServer(folder, chromium);
const page = await serveOrderPage();
const sessionFile = join(folder, "session.json");
const runStep = createStepRunner(
  new URL(without ? "step-without.ts" : "step.ts", import.meta.url),
  [server.url, page.url, sessionFile],
  () => loadSession(sessionFile).state,
);

const means = without
  ? "With the AI SDK alone: an MCP client for each process."
  : "With durable-mcp: one MCP session.";
output.title(
  `An agent in four processes, ${pauseSeconds} seconds apart, and a browser behind @playwright/mcp.\n${means}`,
);
const results: StepResult[] = [];
let screenshot: string | undefined;
for (const step of [1, 2, 3, 4]) {
  if (step > 1) await sleep(pauseSeconds * 1000);
  const result = await runStep(step);
  if (step === 4) screenshot = keepScreenshot();
  output.step(result, { loads: page.visits.loads, submits: page.visits.orders.length, screenshot });
  results.push(result);
}
await endProgram(server.child, "SIGTERM");
page.close();

const { loads, orders } = page.visits;
if (without) {
  const sessions = results.map(({ session }) => session);
  assert.deepEqual(sessions, [1, 2, 3, 4], "MCP sessions");
  output.closing(
    `Every process got a new MCP session, and with it a new browser at a blank page. The order page
was loaded ${times(loads)}; orders received: ${orders.length}.

Screenshot: ${screenshot}`,
  );
} else {
  for (const { step, session, resumed, requests, calls } of results) {
    assert.equal(session, 1, `step ${step}: MCP session`);
    assert.equal(resumed, step > 1, `step ${step}: resumed`);
    if (resumed) assert.equal(requests, calls.length, `step ${step}: HTTP requests`);
  }
  assert.equal(loads, 1, "loads of the page");
  assert.deepEqual(orders, [{ name: "Ada", drink: "tea" }], "forms received");
  output.closing(
    `The browser stayed open all along: the order page was loaded ${times(loads)}, and the form that
process 2 had filled in was sent ${times(orders.length)}, by process 3.

Screenshot: ${screenshot}`,
  );
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

/** The server's files go with the temporary folder; this one stays. */
function keepScreenshot(): string {
  const file = readdirSync(folder).find((name) => name.endsWith(".png"));
  assert(file !== undefined, "There is no screenshot.");
  const kept = join(tmpdir(), `durable-mcp-${file}`);
  copyFileSync(join(folder, file), kept, constants.COPYFILE_EXCL);
  return kept;
}
