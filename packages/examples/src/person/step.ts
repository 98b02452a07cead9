/**
 * A step of the agent, before a person has answered and after it: load the conversation, put the results in their
 * places, let the agent work until a call waits, save the conversation, end.
 *
 *     node step.ts <URL of the MCP server> <store> <chat> <event log, or ""> <file of the conversation>
 */
import { stopWhenWaiting } from "@durable-mcp/ai-sdk";
import { ToolLoopAgent } from "ai";
import { loadSession, saveSession } from "../steps/agent-session.ts";
import { describeCall } from "../steps/describe-call.ts";
import { createScriptedModel } from "../steps/scripted-model.ts";
import { instructions, orderTurn } from "./order-turn.ts";
import { describeWaiting, printPersonReport } from "./person-report.ts";
import { openShop, principal } from "./shop-sessions.ts";

const [url = "", place = "", chatId = "", events = "", file = ""] = process.argv.slice(2);
const { sessions, close } = await openShop(url, place, events);
const session = loadSession(file);
if (session.messages.length === 0)
  session.messages.push({ role: "user", content: orderTurn.prompt });

const turn = await sessions.run(chatId, { principal }, async (run) => {
  const tools = await run.tools();
  const { messages, goesOn } = await run.waiting.resume(session.messages, { tools });
  if (!goesOn) return undefined;
  const agent = new ToolLoopAgent({
    model: process.env["DURABLE_MCP_MODEL"] || createScriptedModel(orderTurn),
    ...{ instructions, tools, ...stopWhenWaiting() },
  });
  const { responseMessages, toolCalls, text } = await agent.generate({ messages });
  saveSession(file, { ...session, messages: [...messages, ...responseMessages] });
  return { calls: toolCalls.map(({ toolName, input }) => describeCall(toolName, input)), text };
});

const entries = await sessions.waiting(chatId, { principal });
const [question] = entries.filter((entry) => entry.type !== "sign-in");
await close();
const { calls = [], text = "" } = turn ?? {};
printPersonReport({
  lines: [
    ...calls.flatMap((what) => (question ? describeWaiting(what, question) : [{ what }])),
    ...(text === "" ? [] : [{ what: `“${text}”` }]),
  ],
  ...{ waiting: question !== undefined, round: question?.round ?? 0, text },
});
