/**
 * One step of the browser demo: load the agent session, let the agent take its turn, save, end.
 *
 *     node step.ts <step> <URL of MCP server> <URL of page> <session file>
 */
import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { loadSession, saveSession } from "../steps/agent-session.ts";
import { browserTurns } from "./browser-turns.ts";
import { countRequests } from "../steps/count-requests.ts";
import { printReport } from "../steps/step-report.ts";
import { takeTurn } from "../steps/take-turn.ts";

const [step, url = "", pageUrl = "", sessionFile = ""] = process.argv.slice(2);
const turn = browserTurns(pageUrl)[Number(step) - 1];
if (!turn) throw new RangeError(`There is no step ${step}.`);

const requestCount = countRequests(url);
const events = new Set<string>();
const provider = createConnectionProvider({
  connections: {
    browser: defineMcpClientConnection({
      url,
      description: "A browser that stays open between steps.",
      session: "stateful",
    }),
  },
  onEvent: { every: ({ type }) => events.add(type) },
});

const loaded = loadSession(sessionFile);
const { result, session } = await provider.run(
  { session: loaded, principal: { type: "app" } },
  ({ tools }) => takeTurn(turn, { messages: loaded.messages, tools }),
);
const { calls, text, messages } = result;
saveSession(sessionFile, { ...session, messages });

const recovered = events.has("recovered");
const resumed = events.has("resumed") && !recovered;
printReport({ pid: process.pid, resumed, recovered, calls, requests: requestCount(), text });
