/**
 * A step of the same agent with the AI SDK alone.
 *
 *     node step-without.ts <places, as JSON> <what the user says> <start time>
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createMCPClient } from "@ai-sdk/mcp";
import { ToolLoopAgent } from "ai";
import { createScriptedModel } from "../steps/scripted-model.ts";
import { createFileAuthProvider } from "./file-auth-provider.ts";
import { instructions, orderTurn } from "./order-turn.ts";
import type { Places } from "./shop-connection.ts";
import { printSignInReport } from "./sign-in-report.ts";

const [given = "", prompt = "", startAt = "0"] = process.argv.slice(2);
const { shopUrl: url, appUrl, store } = JSON.parse(given) as Places;
const authProvider = createFileAuthProvider(store, `${appUrl}/oauth/callback`);

await sleep(Math.max(0, Number(startAt) - Date.now()));
// A client whose grant ends may wait for ever.
setTimeout(() => {
  printSignInReport({ calls: [], text: "No answer came in 20 seconds." });
  process.exit();
}, 20_000);
try {
  const client = await createMCPClient({ transport: { type: "http", url, authProvider } });
  const agent = new ToolLoopAgent({
    model:
      process.env["DURABLE_MCP_MODEL"] ||
      createScriptedModel((said) => orderTurn(said, { isLocked: false })),
    ...{ instructions, tools: await client.tools() },
  });
  const { text, toolCalls } = await agent.generate({ prompt });
  await client.close();
  printSignInReport({ calls: toolCalls, text });
} catch (error) {
  printSignInReport({ calls: [], text: String(error) });
}
// What the client still has open would keep this process.
process.exit();
