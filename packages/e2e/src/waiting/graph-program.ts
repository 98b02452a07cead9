/**
 * One process of a LangChain agent that orders two things at once. It gets its checkpoints and sessions from files,
 * goes on with what it is given, and prints what its graph has then.
 */
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { sessionToolsMiddleware } from "@durable-mcp/langchain/middleware";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { Command } from "@langchain/langgraph";
import { AIMessage, createAgent, fakeModel, HumanMessage, type ToolMessage } from "langchain";
import { FileSaver } from "./graph-file.ts";
import type { GraphState, GraphTurn } from "./graph-protocol.ts";
import { principal } from "./waiting-shop.ts";

const { url, folder, resume, laterMs = 0 } = JSON.parse(process.argv[2]!) as GraphTurn;
const store = createSqliteStore({ path: `${folder}/sessions.db` });
const sessions = createDurableSessions({
  connections: { shop: defineMcpClientConnection({ url, description: "A shop.", input: "pause" }) },
  ...{ store, onEvent: () => undefined, now: () => Date.now() + laterMs },
});
const order = (item: string) => ({ name: "shop__place_order_typed", args: { item }, id: item });
// A model that goes by the messages, because each process has another one.
const model = fakeModel().respond((messages) =>
  messages.some(({ type }) => type === "tool")
    ? new AIMessage("Done.")
    : new AIMessage({ content: "", tool_calls: [order("tea"), order("milk")] }),
);
const agent = createAgent({
  model,
  checkpointer: new FileSaver(`${folder}/checkpoints.json`),
  middleware: [sessionToolsMiddleware()],
});
const start = { messages: [new HumanMessage("Tea and milk.")] };
const input = resume === undefined ? start : resume === null ? null : new Command({ resume });
const state = await sessions.run(folder, { principal }, () =>
  agent.invoke(input as never, { configurable: { thread_id: "chat" } }),
);
await store.close();

const { __interrupt__: interrupts = [] } = state as Partial<GraphState>;
const results = state.messages.filter((message): message is ToolMessage => message.type === "tool");
const printed: GraphState = {
  __interrupt__: interrupts,
  results: results.map(({ content, artifact }) => ({ content, artifact: artifact as unknown })),
};
console.log(JSON.stringify(printed));
