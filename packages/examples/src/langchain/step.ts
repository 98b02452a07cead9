/**
 * One step of `demo.ts`: load the conversation, let a LangChain agent take its turn in the
 * session that the store keeps, save the conversation, end.
 *
 *     node step.ts <step> <URL of the MCP server> <store> <chat> <file of the conversation>
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { sessionToolsMiddleware } from "@durable-mcp/langchain/middleware";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { createAgent } from "langchain";
import { cartTurns } from "../steps/cart-turns.ts";
import { countRequests } from "../steps/count-requests.ts";
import { openStore } from "../programs/open-store.ts";
import { ScriptedChatModel } from "./scripted-chat-model.ts";
import { printReport } from "../steps/step-report.ts";

const [step, url = "", place = "", chatId = "", file = ""] = process.argv.slice(2);
const turns = [cartTurns[0], cartTurns[1], cartTurns[3]];
const turn = turns[Number(step) - 1];
if (!turn) throw new RangeError(`There is no step ${step}.`);

const requestCount = countRequests(url);
const events = new Set<string>();
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
  onEvent: { every: ({ type }) => events.add(type) },
});

// A server makes it once, at start; each run of it finds its own session.
const agent = createAgent({
  model: new ScriptedChatModel(turn),
  systemPrompt: "Do what the user asks with the tools you have, then answer in one sentence.",
  middleware: [sessionToolsMiddleware()],
});

const principal = { type: "user", issuer: "https://shop.example", id: "42" } as const;
const earlier = loadMessages();
const { messages } = await sessions.run(chatId, { principal }, () =>
  agent.invoke({ messages: [...earlier, new HumanMessage(turn.prompt)] }),
);
saveMessages(messages);
await close();

const recovered = events.has("recovered");
printReport({
  pid: process.pid,
  resumed: events.has("resumed") && !recovered,
  recovered,
  calls: messages
    .slice(earlier.length)
    .flatMap((message) => (AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []))
    .map(({ name, args }) => ({ tool: name.replace(/^.*__/, ""), input: args })),
  requests: requestCount(),
  text: messages.at(-1)?.text ?? "",
});

/** Before the first step there is no file. */
function loadMessages(): BaseMessage[] {
  if (!existsSync(file)) return [];
  const stored = JSON.parse(readFileSync(file, "utf8")) as StoredMessage[];
  return mapStoredMessagesToChatMessages(stored);
}

function saveMessages(conversation: BaseMessage[]): void {
  const stored = mapChatMessagesToStoredMessages(conversation);
  writeFileSync(file, JSON.stringify(stored), { mode: 0o600 });
}
