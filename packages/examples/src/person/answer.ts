/**
 * A person answers the questions of the shop, until it has none. There is no agent in this process, no model and no
 * conversation.
 *
 *     node answer.ts <URL of the MCP server> <store> <chat> <event log, or "">
 */
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { answers } from "./order-turn.ts";
import { describeWaiting, type PersonLine, printPersonReport } from "./person-report.ts";
import { openShop, principal } from "./shop-sessions.ts";

const [url = "", place = "", chatId = "", events = ""] = process.argv.slice(2);
const { sessions, close } = await openShop(url, place, events);
const lines: PersonLine[] = [];

const [question] = await sessions.waiting(chatId, { principal });
if (question?.type !== "question") throw new Error("Nothing waits for a person.");
const { id } = question;
let call: WaitingCall = question;
while (call.state === "waiting") {
  const [key = ""] = Object.keys(call.requests);
  const { said, content } = answers[key]!;
  const responses = { [key]: { action: "accept", content } } as const;
  call = await sessions.answer(chatId, id, responses, { principal, round: call.round });
  lines.push(...describeWaiting(`A person: ${said}`, call));
}
await close();
printPersonReport({ lines, waiting: false, round: call.round, text: "" });
