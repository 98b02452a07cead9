/**
 * One step of the demo: load the agent session, let the agent take its turn, save, end.
 *
 *     node demo-step.ts <step> <URL of the MCP server> <file of the agent session>
 */
import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { loadSession, saveSession } from "./agent-session.ts";
import { cartTurns } from "./cart-turns.ts";
import { countRequests } from "./count-requests.ts";
import { printReport } from "./step-report.ts";
import { takeTurn, type TurnTaken } from "./take-turn.ts";

const [step, url = "", sessionFile = ""] = process.argv.slice(2);
const turn = cartTurns[Number(step) - 1];
if (!turn) throw new RangeError(`There is no step ${step}.`);

const requestCount = countRequests(url);
const events = new Set<string>();
const provider = createConnectionProvider({
  connections: {
    cart: defineMcpClientConnection({
      url,
      description: "The user's shopping cart.",
      session: "stateful",
    }),
  },
  onEvent: ({ type }) => events.add(type),
});

let session = loadSession(sessionFile);
const registry = provider.create({
  state: session.state,
  principal: { type: "user", issuer: "https://shop.example", id: "42" },
});
let taken: TurnTaken;
try {
  taken = await takeTurn(turn, { messages: session.messages, tools: await registry.tools() });
  session = { ...session, messages: taken.messages };
} finally {
  await registry.dispose();
  session = provider.commit(registry, session);
  saveSession(sessionFile, session);
}

const { calls, text } = taken;
const recovered = events.has("recovered");
const resumed = events.has("resumed") && !recovered;
printReport({ pid: process.pid, resumed, recovered, calls, requests: requestCount(), text });
