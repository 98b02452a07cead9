/**
 * One step of the agents demo, a process with two runs: in the first the root agent opens a page in its
 * browser. In the second it looks at it, and has two sub-agents work at once, each with a browser of its
 * own. The root agent's browser is a stdio server under a name, which the pool keeps between the runs.
 *
 *     node step.ts <step> <URL of cart> <path of Chromium> <folder> <URL of pages> <session file>
 */
import {
  createConnectionProvider,
  currentConnections,
  defineMcpClientConnection,
  withConnections,
} from "@durable-mcp/ai-sdk";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import { tool } from "ai";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { errands, helperTurn, openTurn, rootTurn } from "./agents-turns.ts";
import { loadSession, saveSession } from "../steps/agent-session.ts";
import { takeTurn } from "../steps/take-turn.ts";
import type { Turn } from "../steps/turn.ts";

/** What a step tells its parent, as one line of JSON. */
export interface AgentsReport {
  pid: number;
  /** The title of the page in the root agent's browser, at the end of each run. */
  root: [opened: string, found: string];
  helpers: { item: string; shows: string }[];
  /** What the cart holds at the end, as the root agent sees it. */
  cart: string;
  /** Browsers, and sessions of the cart: how many the runs of this step made, and how often a run went on with one. */
  sessions: Record<string, { made: number; kept: number }>;
}

const [step, cartUrl = "", chromium = "", folder = "", pagesUrl = "", sessionFile = ""] =
  process.argv.slice(2);
const plan = errands[Number(step) - 1];
if (!plan) throw new RangeError(`There is no step ${step}.`);

const sessionsOf: AgentsReport["sessions"] = {
  browser: { made: 0, kept: 0 },
  cart: { made: 0, kept: 0 },
};
const playwright = new URL("cli.js", import.meta.resolve("@playwright/mcp/package.json"));
const provider = createConnectionProvider({
  connections: {
    browser: defineMcpStdioConnection({
      command: process.execPath,
      args: [
        fileURLToPath(playwright),
        ...["--headless", "--no-sandbox", "--isolated", "--executable-path", chromium],
        ...["--output-dir", folder],
      ],
      description: "A browser.",
    }),
    cart: defineMcpClientConnection({
      url: cartUrl,
      description: "The user's shopping cart.",
      session: "stateful",
    }),
  },
  pool: {},
  onEvent: {
    every(event) {
      const { type, connection, name } = event;
      if (type === "close-failed") {
        console.error(`The ${connection} of a helper was not ended.`);
        process.exitCode = 1;
      }
      const isFound = type === "client" && event.action === "hit" && name !== undefined;
      if (type === "started") sessionsOf[connection]!.made += 1;
      if (type === "resumed" || isFound) sessionsOf[connection]!.kept += 1;
    },
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

/** A run of the chat, in which the root agent takes one turn with the browser that is its own by name. */
async function continueChat(turn: Turn): Promise<{ text: string; cart: string }> {
  const session = loadSession(sessionFile);
  const principal = { type: "user", issuer: "https://shop.example", id: "42" } as const;
  const run = provider.create({ state: session.state, principal, sessionId: "chat" });
  const takeTurnAsRoot = () =>
    withConnections({ browser: { named: "root" } }, async (own) => {
      const tools = { ...(await own.tools()), send_helper: sendHelper };
      const { text } = await takeTurn(turn, { messages: [], tools });
      return { text, cart: textOf(await own.call("cart", "list_items")) };
    });
  const onClose = () => saveSession(sessionFile, provider.commit(run, session));
  return await run.enter(takeTurnAsRoot, { onClose });
}

const { text: opened } = await continueChat(openTurn(pagesUrl));
const { text: found, cart } = await continueChat(rootTurn(plan));
await provider.shutdown();

helpers.sort((a, b) => a.item.localeCompare(b.item));
const root: AgentsReport["root"] = [opened, found];
const line: AgentsReport = { pid: process.pid, root, helpers, cart, sessions: sessionsOf };
console.log(JSON.stringify(line));

function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content.map(({ text }) => text).join("\n");
}
