/** A call of which its server has made a task, of 2025-11-25 or of 2026-07-28. */

import { lastEventIdHeader } from "../../answer/resume-stream.ts";
import { within } from "../../base/bounded-wait.ts";
import { isRecord } from "../../base/json-values.ts";
import { randomToken } from "../../base/random-token.ts";
import { failed } from "../../session/session-errors.ts";
import {
  isRequest,
  type JsonRpcMessage,
  type JsonRpcResponse,
  revisionIn,
} from "../../wire/json-rpc.ts";
import {
  askAbout,
  askedIn,
  fateUnknown,
  hear,
  type HeldWay,
  type KeptCall,
  laterIfUnsure,
  sendAbout,
} from "./held-request.ts";
import type { InputResponses } from "../questions/input-request.ts";
import { type LegOptions, type LegOutcome, questionOf } from "./send-leg.ts";
import { readTask } from "./task-result.ts";
import { answerAgain, answerAsked, keyClosedBy } from "./unsure-answers.ts";
import { withoutMarks } from "../record/waiting-call.ts";
import { answersWhere } from "../record/waiting-life.ts";
import type { HeldTask } from "../record/held.ts";

/** The member of `_meta` that names a task. */
const relatedTask = "io.modelcontextprotocol/related-task";
/** How long a look listens for a question of a session's task, in milliseconds. */
const listenMs = 2_000;
/** How long a session's own stream is waited for before a task is asked for its question, in milliseconds. */
const openMs = 500;

const isModern = ({ request }: Pick<KeptCall, "request">) =>
  revisionIn({ jsonrpc: "2.0", ...request }) !== undefined;

export const taskWay: HeldWay<HeldTask> = {
  look: (call, held, leg) => (isModern(call) ? lookModern : lookInSession)(call, held, leg),
  answer: (call, held, responses, leg) =>
    (isModern(call) ? answerModern : answerInSession)(call, held, responses, leg),
  async cancel(call, { taskId }, leg) {
    await ask(call, "tasks/cancel", { taskId }, leg);
  },
};

/** Sends a request about a task. @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks */
async function ask(
  call: KeptCall,
  method: string,
  params: { readonly taskId: string } & Record<string, unknown>,
  leg: LegOptions,
) {
  if (!isModern(call)) return await askAbout(call, method, params, leg);
  const own = { ...params, _meta: call.request.params["_meta"] };
  const headers = { "mcp-method": method, "mcp-name": params.taskId };
  return await askAbout(call, method, own, leg, headers);
}

const goesOn = (held: HeldTask, unsure?: KeptCall["unsure"]): LegOutcome => ({
  ...{ type: "goes-on", held, pollMs: held.intervalMs, unsure },
});

/** The task as it is now, or what a look at it has led to. */
async function readNow(
  call: KeptCall,
  held: HeldTask,
  leg: LegOptions,
): Promise<
  | { readonly now: HeldTask; readonly result: Readonly<Record<string, unknown>> }
  | { readonly outcome: LegOutcome }
> {
  const asked = await ask(call, "tasks/get", { taskId: held.taskId }, leg);
  if ("outcome" in asked) return { outcome: laterIfUnsure(call, asked.outcome) };
  const { result, error } = asked.answer;
  const own = isRecord(result) ? result : {};
  const now = own["taskId"] === held.taskId ? readTask(own, held) : undefined;
  if (now !== undefined) return { now, result: own };
  // The server does not know the task, or not any more.
  return { outcome: fateUnknown(call, error) };
}

function settledAs({
  result,
  error,
}: {
  readonly result?: unknown;
  readonly error?: JsonRpcResponse["error"] | undefined;
}): LegOutcome | undefined {
  if (isRecord(error)) return { type: "settles", answer: { error } };
  if (!isRecord(result)) return undefined;
  const { _meta, ...others } = result;
  // It has the task's id.
  const { [relatedTask]: _, ...meta } = isRecord(_meta) ? _meta : {};
  const own = { ...others, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
  return { type: "settles", answer: { result: withoutMarks(own) } };
}

function cancelled(call: KeptCall): LegOutcome {
  const { message } = failed(
    "OUTCOME_UNKNOWN",
    { method: call.request.method, url: new URL(call.url) },
    "the server has cancelled the task. What it had done until then is unknown; check before you make the call again.",
  );
  return { type: "settles", answer: { error: { code: -32_603, message } } };
}

async function lookModern(call: KeptCall, held: HeldTask, leg: LegOptions): Promise<LegOutcome> {
  const read = await readNow(call, held, leg);
  if ("outcome" in read) return read.outcome;
  const { now, result } = read;
  switch (now.status) {
    case "completed":
      return settledAs({ result: withType(result["result"]) }) ?? goesOn(now);
    case "failed":
      return settledAs({ error: result["error"] as JsonRpcResponse["error"] }) ?? cancelled(call);
    case "cancelled":
      return cancelled(call);
    case "input_required": {
      const all = isRecord(result["inputRequests"]) ? result["inputRequests"] : {};
      const answered = [...(now.answered ?? []), ...Object.keys(call.unsure ?? {})];
      const open = Object.entries(all).filter(([key]) => !answered.includes(key));
      const question = questionOf({
        resultType: "input_required",
        inputRequests: Object.fromEntries(open),
      });
      const next = { ...now, answered: [...new Set(answered)] };
      // It lists them still, and ignores a second answer to one key.
      const lacking = answersWhere(call.unsure, (key) => Object.hasOwn(all, key));
      const again = { taskId: now.taskId, inputResponses: lacking };
      const sent = lacking && (await ask(call, "tasks/update", again, leg));
      const unsure = sent && "outcome" in sent ? lacking : undefined;
      if (sent) leg.onAnswer?.(unsure ? "unsure" : "delivered");
      return question
        ? { type: "asks", question: { ...question, held: next, unsure } }
        : goesOn(next, unsure);
    }
    default:
      return goesOn(now);
  }
}

const withType = (result: unknown) =>
  isRecord(result) ? { resultType: "complete", ...result } : undefined;

/** Answers the questions of a task. */
async function answerModern(
  call: KeptCall,
  held: HeldTask,
  responses: InputResponses,
  leg: LegOptions,
): Promise<LegOutcome> {
  const keys = Object.keys(responses);
  const next = { ...held, answered: [...(held.answered ?? []), ...keys] };
  const params = { taskId: held.taskId, inputResponses: responses };
  const sent = await ask(call, "tasks/update", params, leg);
  if ("answer" in sent) {
    const { error } = sent.answer;
    const others = answersWhere(call.unsure, (key) => !keys.includes(key));
    return error === undefined ? goesOn(next, others) : fateUnknown(call, error);
  }
  if (sent.outcome.type !== "unsure") return sent.outcome;
  leg.onAnswer?.("unsure");
  const looked = await lookModern(call, next, leg);
  return looked.type === "not-sent" ? goesOn(next, call.unsure) : looked;
}

async function lookInSession(call: KeptCall, held: HeldTask, leg: LegOptions): Promise<LegOutcome> {
  const read = await readNow(call, held, leg);
  if ("outcome" in read) return read.outcome;
  const { now } = read;
  if (now.status === "input_required") return await findQuestion(call, now, leg);
  if (!["completed", "failed", "cancelled"].includes(now.status)) return goesOn(now);
  const asked = await ask(call, "tasks/result", { taskId: now.taskId }, leg);
  if ("outcome" in asked) return laterIfUnsure(call, asked.outcome);
  const { error } = asked.answer;
  if (now.status === "cancelled" && error !== undefined) return cancelled(call);
  return settledAs(asked.answer) ?? goesOn(now);
}

/**
 * The question of a session's task. It comes once, on the first stream of `tasks/result`, which whoever looks next
 * resumes. Some servers ask on the session's own stream.
 */
async function findQuestion(call: KeptCall, held: HeldTask, leg: LegOptions): Promise<LegOutcome> {
  const { taskId } = held;
  const eventId = lastEventIdHeader(held.eventId ?? "");
  const { signal } = leg;
  const result = { id: randomToken(), method: "tasks/result", params: { taskId } };
  const ofResult = eventId
    ? ({ httpMethod: "GET", headers: { "last-event-id": eventId } } as const)
    : { message: result };
  const closed = new Set<string | undefined>();
  const listening = sendAbout(call, { httpMethod: "GET" }, leg);
  await within(openMs, listening);
  const both = [listening, sendAbout(call, ofResult, leg)].map(async (sending, at) => {
    const sent = await sending;
    if ("outcome" in sent) return undefined;
    // Of the session's own stream nothing is kept.
    const onEvent =
      at === 0 ? undefined : async (id: string) => leg.onHeld?.({ ...held, eventId: id });
    const take = (message: JsonRpcMessage) => {
      const key = keyClosedBy(message);
      // A stream that does not go on begins with what was asked before.
      const isOld =
        at === 1 && eventId === undefined && Object.hasOwn(call.unsure ?? {}, key ?? "");
      if (isOld && isRequest(message)) return undefined;
      closed.add(key);
      return askedIn(message);
    };
    return await hear(sent.response, listenMs, take, { signal, onEvent });
  });
  const [ofSession, heard] = await Promise.all(both);
  const next = { ...held, eventId: heard?.eventId ?? held.eventId };
  const question = heard?.found ?? ofSession?.found;
  const unsure = await answerAgain(call, (key) => !closed.has(key), leg);
  return question
    ? { type: "asks", question: { ...question, held: next, unsure } }
    : goesOn(next, unsure);
}

async function answerInSession(
  call: KeptCall,
  held: HeldTask,
  responses: InputResponses,
  leg: LegOptions,
): Promise<LegOutcome> {
  const { outcome: failure, unsure } = await answerAsked(call, responses, leg);
  if (failure !== undefined) return failure;
  if (unsure === undefined) return goesOn({ ...held, status: "working" });
  const looked = await lookInSession({ ...call, unsure }, held, leg);
  return looked.type === "not-sent" ? goesOn(held, unsure) : looked;
}
