/**
 * The same step with the AI SDK alone, in a function that is stopped after five seconds.
 *
 *     node step-without.ts <URL of the MCP server>
 */
import { createMCPClient } from "@ai-sdk/mcp";
import { ToolLoopAgent } from "ai";
import { createScriptedModel } from "../steps/scripted-model.ts";
import { instructions, printReport, researchTurn } from "./research-turn.ts";

const [url = ""] = process.argv.slice(2);
const abortSignal = AbortSignal.timeout(5_000);
const client = await createMCPClient({ transport: { type: "http", url } });
const agent = new ToolLoopAgent({
  model: process.env["DURABLE_MCP_MODEL"] || createScriptedModel(researchTurn),
  ...{ instructions, tools: await client.tools() },
});
try {
  const { text } = await agent.generate({ prompt: researchTurn.prompt, abortSignal });
  printReport({ what: `“${text}”`, call: "lost", text });
} catch (error) {
  printReport({ what: `The function ends: ${(error as Error).name}.`, call: "lost", text: "" });
}
process.exit(0);
