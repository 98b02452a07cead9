/**
 * A step of the agent, in a function that is stopped after five seconds: load the conversation, put the results in their
 * places, let the agent work until a call waits, save the conversation, end.
 *
 *     node step.ts <URL of the MCP server> <"task" or "stream"> <store> <its key> <chat> <file of the conversation>
 */
import { stopWhenWaiting } from "@durable-mcp/ai-sdk";
import { ToolLoopAgent } from "ai";
import { loadSession, saveSession } from "../steps/agent-session.ts";
import { createScriptedModel } from "../steps/scripted-model.ts";
import { type LabKind, openLab, principal } from "./lab-sessions.ts";
import { instructions, printReport, researchTurn } from "./research-turn.ts";

const endsAt = Date.now() + 5_000;
const [url = "", kind, place = "", key = "", chatId = "", file = ""] = process.argv.slice(2);
const { sessions, close } = await openLab(url, kind as LabKind, place, key);
const session = loadSession(file);
if (session.messages.length === 0)
  session.messages.push({ role: "user", content: researchTurn.prompt });

const text = await sessions.run(chatId, { principal, endsAt }, async (run) => {
  const resumed = await run.waiting.resume(session.messages, { tools: await run.tools() });
  const { messages, tools, goesOn } = resumed;
  if (!goesOn) return "";
  const agent = new ToolLoopAgent({
    model: process.env["DURABLE_MCP_MODEL"] || createScriptedModel(researchTurn),
    ...{ instructions, tools, ...stopWhenWaiting() },
  });
  const result = await agent.generate({ messages });
  saveSession(file, { ...session, messages: [...messages, ...result.responseMessages] });
  return result.text;
});
const [call] = await sessions.waiting(chatId, { principal });
await close();
const what = text === "" ? "The agent asks the lab." : `“${text}”`;
printReport({ what, call: call ? "goes on" : "settled", text });
