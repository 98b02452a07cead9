/**
 * `npm run demo`: an agent session in five steps, each a process of its own, with a stateful MCP
 * server that is killed and started again after the third. `-- --json` is for programs,
 * `-- --store postgres://…` or `redis://…` keeps the session there instead of in a SQLite file.
 * `-- --events FILE` writes an event log, which `durable-mcp timeline FILE` draws.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { playCartSteps } from "../steps/play-cart-steps.ts";
import { jsonOutput, tableOutput } from "../steps/step-output.ts";

const folder = createTemporaryFolder();
const {
  json,
  store: place = join(folder, "sessions.db"),
  events = "",
} = parseArgs({
  options: { json: { type: "boolean" }, store: { type: "string" }, events: { type: "string" } },
}).values;
const output = json ? jsonOutput : tableOutput;

const model = process.env["DURABLE_MCP_MODEL"] || "scripted (DURABLE_MCP_MODEL names a real one)";
await playCartSteps({
  ...{ program: new URL("step.ts", import.meta.url), count: 5, killedBefore: 4 },
  ...{ place, folder, more: [events], output },
  title: `One agent session in five processes, its shopping cart in the memory of an MCP server.
Language model: ${model}`,
});
output.closing(
  `Processes 2 and 3 went on in the MCP session of process 1 and sent nothing but their tool calls.
After the restart the server no longer knew the session: process 4 recovered in a new one, which
process 5 went on in.`,
);
