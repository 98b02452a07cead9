/**
 * `npm run demo:langchain`: a LangChain agent in three steps, each a process of its own, with a
 * stateful MCP server that is killed and started again after the second. `-- --json` is for
 * programs.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { playCartSteps } from "../steps/play-cart-steps.ts";
import { jsonOutput, tableOutput } from "../steps/step-output.ts";

const { json } = parseArgs({ options: { json: { type: "boolean" } } }).values;
const output = json ? jsonOutput : tableOutput;
const folder = createTemporaryFolder();

await playCartSteps({
  ...{ program: new URL("step.ts", import.meta.url), count: 3, killedBefore: 3 },
  ...{ place: join(folder, "sessions.db"), folder, output },
  title: `A LangChain agent in three processes, its shopping cart in the memory of an MCP server.
Language model: scripted`,
});
output.closing(
  `Process 2 went on in the MCP session of process 1 and sent nothing but its tool call.
After the restart process 3 recovered in a new one, and the tool's result told the model so.`,
);
