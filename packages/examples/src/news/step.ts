/**
 * A step of the agent: load the conversation, add what has come, let the agent work, save the conversation, end. The
 * first one watches a resource.
 *
 *     node step.ts <URL of the MCP server> <resource> <store> <its key> <chat> <file of the conversation>
 */
import { stopWhenWaiting } from "@durable-mcp/ai-sdk";
import { ToolLoopAgent } from "ai";
import { loadSession, saveSession } from "../steps/agent-session.ts";
import { createScriptedModel } from "../steps/scripted-model.ts";
import { everyMs, openOffice, principal, printReport } from "./news-sessions.ts";

const [url = "", resource = "", place = "", key = "", chatId = "", file = ""] =
  process.argv.slice(2);
const { sessions, close } = await openOffice(url, place, key);
const session = loadSession(file);
if (session.messages.length === 0)
  session.messages.push({ role: "user", content: "Tell me when the board changes." });

const { what, news } = await sessions.run(chatId, { principal }, async (run) => {
  await run.watch("office", { resource }, { everyMs });
  const resumed = await run.waiting.resume(session.messages, { tools: await run.tools() });
  const { messages, tools } = resumed;
  const agent = new ToolLoopAgent({
    model: process.env["DURABLE_MCP_MODEL"] || createScriptedModel(readNews),
    instructions: "Answer in one sentence.",
    ...{ tools, ...stopWhenWaiting() },
  });
  const result = await agent.generate({ messages });
  // The run has taken the news when this step ends, so they are saved before.
  saveSession(file, { ...session, messages: [...messages, ...result.responseMessages] });
  return { what: `“${result.text}”`, news: resumed.news.length };
});
await close();
printReport({ what, news });

/** What the scripted model makes of the last message. */
function readNews(said: string) {
  const [, entry] = /\n(\{.*"data":\[\{.*"text":.*)\n/.exec(said) ?? [];
  const { data } = JSON.parse(entry ?? "{}") as { data?: [{ text: string }] };
  const answer = data ? `It says now: ${data[0].text}` : "I will.";
  return { prompt: said, calls: [], answer: () => answer };
}
