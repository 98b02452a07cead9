/** `node claude-agent-sdk.mjs <model> <server>`: an agent of the Claude Agent SDK, which takes no `fetch`. */
import { query } from "@anthropic-ai/claude-agent-sdk";

const [model, url] = process.argv.slice(2);
const env = { ...process.env, ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: "none" };
const off = {
  DISABLE_TELEMETRY: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_ERROR_REPORTING: "1",
  ENABLE_TOOL_SEARCH: "false",
};
const messages = query({
  prompt: "Call the tools of the notebook, one after the other.",
  options: {
    ...{ env: { ...env, ...off, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" }, maxTurns: 20 },
    mcpServers: { notebook: { type: "http", url } },
    ...{ settingSources: [], allowedTools: ["mcp__notebook"], permissionMode: "dontAsk" },
  },
});
for await (const message of messages) if (message.type === "result") console.log(message.result);
process.exit();
