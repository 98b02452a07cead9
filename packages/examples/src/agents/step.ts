/**
 * One step of the agents demo: a root agent works in the sessions that the store keeps, and has two
 * sub-agents work at once, each with a browser of its own.
 *
 *     node step.ts <step> <URL of cart> <URL of browser> <URL of pages> <store> <chat>
 */
import {
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
  withConnections,
} from "@durable-mcp/ai-sdk";
import { tool } from "ai";
import { z } from "zod";
import { errands, helperTurn, rootTurn } from "./agents-turns.ts";
import { openStore } from "../programs/open-store.ts";
import { takeTurn } from "../steps/take-turn.ts";

/** What a step tells its parent, as one line of JSON. */
export interface AgentsReport {
  pid: number;
  /** The title of the page in the root agent's browser. */
  root: string;
  helpers: { item: string; shows: string }[];
  /** What the cart holds at the end, as the root agent sees it. */
  cart: string;
  /** Sessions by connection: made in this step, and gone on with. */
  sessions: Record<string, { made: number; kept: number }>;
}

const [step, cartUrl = "", browserUrl = "", pagesUrl = "", place = "", chatId = ""] =
  process.argv.slice(2);
const plan = errands[Number(step) - 1];
if (!plan) throw new RangeError(`There is no step ${step}.`);

const sessionsOf: AgentsReport["sessions"] = {
  browser: { made: 0, kept: 0 },
  cart: { made: 0, kept: 0 },
};
const { store, close } = await openStore(place);
const sessions = createDurableSessions({
  connections: {
    browser: defineMcpClientConnection({
      url: browserUrl,
      description: "A browser.",
      session: "stateful",
    }),
    cart: defineMcpClientConnection({
      url: cartUrl,
      description: "The user's shopping cart.",
      session: "stateful",
    }),
  },
  store,
  onEvent({ type, connection }) {
    if (type === "close-failed") {
      console.error(`The ${connection} of a helper was not ended.`);
      process.exitCode = 1;
    }
    if (type === "started") sessionsOf[connection]!.made += 1;
    if (type === "resumed") sessionsOf[connection]!.kept += 1;
  },
});

const helpers: AgentsReport["helpers"] = [];
const sendHelper = tool({
  description: "Sends a helper with a browser of its own to fetch something.",
  inputSchema: z.object({ page: z.string(), item: z.string() }),
  // Nothing is handed in: the helper's code finds the run that it is part of.
  execute: (errand) =>
    withConnections({ browser: "isolate", cart: "inherit" }, async () => {
      const tools = await currentConnections().tools();
      const { text } = await takeTurn(helperTurn(pagesUrl, errand), { messages: [], tools });
      helpers.push({ item: errand.item, shows: text });
      return text;
    }),
});

const principal = { type: "user", issuer: "https://shop.example", id: "42" } as const;
const report = await sessions.run(chatId, { principal }, async ({ tools }) => {
  const { text } = await takeTurn(rootTurn(pagesUrl, plan), {
    messages: [],
    tools: { ...tools, send_helper: sendHelper },
  });
  return { root: text, cart: textOf(await currentConnections().call("cart", "list_items")) };
});
await close();

helpers.sort((a, b) => a.item.localeCompare(b.item));
const line: AgentsReport = { pid: process.pid, ...report, helpers, sessions: sessionsOf };
console.log(JSON.stringify(line));

function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content.map(({ text }) => text).join("\n");
}
