/**
 * `npm run demo`: an agent session in five steps, each a process of its own, with a stateful MCP
 * server that is killed and started again after the third. `-- --json` is for programs,
 * `-- --store postgres://…` or `redis://…` keeps the session there instead of in a SQLite file.
 * `-- --events FILE` writes an event log, which `durable-mcp timeline FILE` draws.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../programs/open-store.ts";
import { endProgram, startProgram } from "../programs/start-program.ts";
import { jsonOutput, tableOutput } from "../steps/step-output.ts";
import { createStepRunner, type StepResult } from "../steps/step-runner.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";

const folder = createTemporaryFolder();
const {
  json,
  store: place = join(folder, "sessions.db"),
  events = "",
} = parseArgs({
  options: { json: { type: "boolean" }, store: { type: "string" }, events: { type: "string" } },
}).values;
const output = json ? jsonOutput : tableOutput;

const port = await findFreePort();
const startServer = async () => {
  const server = startProgram(
    new URL("../servers/cart-server.ts", import.meta.url),
    [String(port)],
    {
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  await waitForPort(port);
  return server;
};
const { store, close } = await openStore(place);
const chatId = `demo ${randomUUID()}`;
const records = async () => {
  const page = await store.list({
    prefix: JSON.stringify(["default", chatId]).slice(0, -1),
    limit: 10,
  });
  return page.records;
};
const runStep = createStepRunner(
  new URL("step.ts", import.meta.url),
  [`http://127.0.0.1:${port}/mcp`, place, chatId, join(folder, "messages.json"), events],
  records,
);

const model = process.env["DURABLE_MCP_MODEL"] || "scripted (DURABLE_MCP_MODEL names a real one)";
output.title(`One agent session in five processes, its shopping cart in the memory of an MCP server.
Language model: ${model}`);
let server = await startServer();
const results: StepResult[] = [];
for (const step of [1, 2, 3, 4, 5]) {
  if (step === 4) {
    await endProgram(server, "SIGKILL");
    server = await startServer();
    output.between("The server process is killed and started again. Its memory is lost.");
  }
  const result = await runStep(step);
  output.step(result);
  results.push(result);
}
await endProgram(server, "SIGTERM");
// Its server is gone, so there is nothing to end.
for (const { key } of await records()) await store.delete(key);
await close();

for (const { step, session, resumed, recovered, calls, requests } of results) {
  assert.equal(session, step < 4 ? 1 : 2, `step ${step}: MCP session`);
  assert.equal(resumed, step !== 1 && step !== 4, `step ${step}: resumed`);
  assert.equal(recovered, step === 4, `step ${step}: recovered`);
  if (resumed) assert.equal(requests, calls.length, `step ${step}: HTTP requests`);
}
output.closing(
  `Processes 2 and 3 went on in the MCP session of process 1 and sent nothing but their tool calls.
After the restart the server no longer knew the session: process 4 recovered in a new one, which
process 5 went on in.`,
);
