/**
 * A step of the agent, before the user has signed in and after it: load the conversation, let the agent work until a
 * call waits, save the conversation, end.
 *
 *     SEALING_KEY=… node step.ts <places, as JSON> <what the user says, or ""> <start time> <file of the conversation>
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createDurableAgent } from "@durable-mcp/ai-sdk";
import { loadSession, saveSession } from "../steps/agent-session.ts";
import { createScriptedModel } from "../steps/scripted-model.ts";
import { firstPrompt, instructions, orderTurn } from "./order-turn.ts";
import { connectShop, type Places, userOf } from "./shop-connection.ts";
import { printSignInReport } from "./sign-in-report.ts";

const [given = "", prompt = "", startAt = "0", file = ""] = process.argv.slice(2);
const places = JSON.parse(given) as Places;
const principal = userOf("ada");
const { connections, store, close } = await connectShop(places);
const agent = createDurableAgent({
  ...{ connections, store, instructions },
  // What happens is in the table.
  onEvent: () => {},
  model:
    process.env["DURABLE_MCP_MODEL"] ||
    createScriptedModel((said) => orderTurn(said, { isLocked: said === firstPrompt })),
});

const session = loadSession(file);
if (prompt !== "") session.messages.push({ role: "user", content: prompt });
await sleep(Math.max(0, Number(startAt) - Date.now()));
// The result of a call that has waited takes its place before the model is called.
const { text, toolCalls, responseMessages } = await agent.generate({
  messages: session.messages,
  options: { sessionId: places.chatId, principal },
});
saveSession(file, { ...session, messages: [...session.messages, ...responseMessages] });

const waiting = await agent.sessions.waiting(places.chatId, { principal });
await close();
printSignInReport({ calls: toolCalls, isWaiting: waiting.length > 0, text });
