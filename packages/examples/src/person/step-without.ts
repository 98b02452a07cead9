/**
 * A step of the same agent with the AI SDK alone. Its client asks a handler and waits for the answer in this process.
 * The person answers later, so that the handler can only tell what is asked.
 *
 *     node step-without.ts <step> <URL of the MCP server> <file of the conversation>
 */
import { createMCPClient, ElicitationRequestSchema } from "@ai-sdk/mcp";
import { ToolLoopAgent } from "ai";
import { loadSession, saveSession } from "../steps/agent-session.ts";
import { describeCall } from "../steps/describe-call.ts";
import { createScriptedModel } from "../steps/scripted-model.ts";
import { answers, instructions, orderTurn } from "./order-turn.ts";
import { describeQuestion, type PersonLine, printPersonReport } from "./person-report.ts";

const [step, url = "", file = ""] = process.argv.slice(2);
const session = loadSession(file);
// Nothing of the client takes an answer later. The person can only say it to the model.
const said = Object.values(answers).map((answer) => answer.said);
const prompt = step === "1" ? orderTurn.prompt : said.join(" ");
session.messages.push({ role: "user", content: prompt });

const questions: PersonLine[] = [];
const client = await createMCPClient({
  transport: { type: "http", url },
  capabilities: { elicitation: {} },
});
client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => {
  questions.push(describeQuestion(params.message));
  throw new Error("The person is not here.");
});
const agent = new ToolLoopAgent({
  model: process.env["DURABLE_MCP_MODEL"] || createScriptedModel(orderTurn),
  ...{ instructions, tools: await client.tools() },
});
const { responseMessages, toolCalls, text } = await agent.generate(session);
await client.close();
saveSession(file, { ...session, messages: [...session.messages, ...responseMessages] });

printPersonReport({
  lines: [
    ...(step === "1" ? [] : [{ what: `A person: ${prompt}` }]),
    ...toolCalls.map((call) => ({ what: describeCall(call.toolName, call.input), call: "failed" })),
    ...questions,
    { what: `“${text}”` },
  ],
  ...{ waiting: false, round: questions.length, text },
});
