/**
 * One step of the demo: load the conversation, let the agent take its turn in the session that the
 * store keeps, save the conversation, end.
 *
 *     node step.ts <step> <URL of the MCP server> <store> <chat> <file of the conversation> [<event log>]
 */
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createEventLog } from "@durable-mcp/ai-sdk/event-log";
import { loadSession, saveSession } from "../steps/agent-session.ts";
import { cartTurns } from "../steps/cart-turns.ts";
import { countRequests } from "../steps/count-requests.ts";
import { openStore } from "../programs/open-store.ts";
import { printReport } from "../steps/step-report.ts";
import { takeTurn } from "../steps/take-turn.ts";

const [step, url = "", place = "", chatId = "", file = "", logPath] = process.argv.slice(2);
const turn = cartTurns[Number(step) - 1];
if (!turn) throw new RangeError(`There is no step ${step}.`);

const requestCount = countRequests(url);
const events = new Set<string>();
const log = logPath ? createEventLog({ path: logPath }) : undefined;
const { store, close } = await openStore(place);
const sessions = createDurableSessions({
  connections: {
    cart: defineMcpClientConnection({
      url,
      description: "The user's shopping cart.",
      session: "stateful",
    }),
  },
  store,
  onEvent: {
    every(event, ofStep) {
      events.add(event.type);
      log?.every(event, ofStep);
    },
  },
});

const principal = { type: "user", issuer: "https://shop.example", id: "42" } as const;
const session = loadSession(file);
const { calls, text, messages } = await sessions.run(chatId, { principal }, async (run) =>
  takeTurn(turn, { messages: session.messages, tools: await run.tools() }),
);
saveSession(file, { ...session, messages });
await close();

const recovered = events.has("recovered");
const resumed = events.has("resumed") && !recovered;
printReport({ pid: process.pid, resumed, recovered, calls, requests: requestCount(), text });
