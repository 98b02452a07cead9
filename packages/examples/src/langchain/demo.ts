/**
 * `npm run demo:langchain`: a LangChain agent in three steps, each a process of its own, with a
 * stateful MCP server that is killed and started again after the second. `-- --json` is for
 * programs.
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

const { json } = parseArgs({ options: { json: { type: "boolean" } } }).values;
const output = json ? jsonOutput : tableOutput;
const folder = createTemporaryFolder();
const place = join(folder, "sessions.db");

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
const prefix = JSON.stringify(["default", chatId]).slice(0, -1);
const runStep = createStepRunner(
  new URL("step.ts", import.meta.url),
  [`http://127.0.0.1:${port}/mcp`, place, chatId, join(folder, "messages.json")],
  async () => (await store.list({ prefix, limit: 10 })).records,
);

output.title(`A LangChain agent in three processes, its shopping cart in the memory of an MCP server.
Language model: scripted`);
let server = await startServer();
const results: StepResult[] = [];
for (const step of [1, 2, 3]) {
  if (step === 3) {
    await endProgram(server, "SIGKILL");
    server = await startServer();
    output.between("The server process is killed and started again. Its memory is lost.");
  }
  const result = await runStep(step);
  output.step(result);
  results.push(result);
}
await endProgram(server, "SIGTERM");
await close();

for (const { step, session, resumed, recovered, calls, requests } of results) {
  assert.equal(session, step < 3 ? 1 : 2, `step ${step}: MCP session`);
  assert.equal(resumed, step === 2, `step ${step}: resumed`);
  assert.equal(recovered, step === 3, `step ${step}: recovered`);
  if (resumed) assert.equal(requests, calls.length, `step ${step}: HTTP requests`);
}
output.closing(
  `Process 2 went on in the MCP session of process 1 and sent nothing but its tool call.
After the restart process 3 recovered in a new one, and the tool's result told the model so.`,
);
