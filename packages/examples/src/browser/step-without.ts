/**
 * The same step with the AI SDK alone: an MCP client, and with it a browser, for each process.
 *
 *     node step-without.ts <step> <URL of MCP server> <URL of page> <session file>
 */
import { createMCPClient } from "@ai-sdk/mcp";
import { loadSession, saveSession } from "../steps/agent-session.ts";
import { browserTurns } from "./browser-turns.ts";
import { countRequests } from "../steps/count-requests.ts";
import { printReport } from "../steps/step-report.ts";
import { takeTurn, type TurnTaken } from "../steps/take-turn.ts";

const [step, url = "", pageUrl = "", sessionFile = ""] = process.argv.slice(2);
const turn = browserTurns(pageUrl)[Number(step) - 1];
if (!turn) throw new RangeError(`There is no step ${step}.`);

const requestCount = countRequests(url);
let { messages, state } = loadSession(sessionFile);
const client = await createMCPClient({
  transport: {
    type: "http",
    url,
    // Only for the parent to number the sessions by; nothing uses it again.
    onSessionIdChange: (sessionId) => {
      if (sessionId !== undefined) state = { sessionId };
    },
  },
});
let taken: TurnTaken;
try {
  taken = await takeTurn(turn, { messages, tools: await client.tools() });
  messages = taken.messages;
} finally {
  await client.close();
  saveSession(sessionFile, { messages, state });
}

const { calls, text } = taken;
const requests = requestCount();
printReport({ pid: process.pid, resumed: false, recovered: false, calls, requests, text });
