/** Answers to a session's server that keeps the call: those that may be lost on their way are sent again. */

import { isRequest, type JsonRpcMessage, methodOf, paramsOf } from "../../wire/json-rpc.ts";
import { letGo } from "../../wire/read-answer.ts";
import { type KeptCall, type Missing, sendAbout } from "./held-request.ts";
import type { LegOptions, LegOutcome } from "./send-leg.ts";
import { answersWhere } from "../record/waiting-life.ts";

type Answers = NonNullable<KeptCall["unsure"]>;

/**
 * A person's answer to a question of a call that its server keeps was perhaps lost on its way. It goes out again, now and
 * in later looks, while the server may wait for it. The question is not listed again.
 */
export interface AnswerUnsureEvent {
  readonly type: "answer-unsure";
  /** The server's name of the tool or prompt, or the resource's URI. */
  readonly tool: string;
  readonly round: number;
  /** `unsure`: it was sent, and nobody knows whether it came. `delivered`: it was sent again, and the server has it. */
  readonly delivery: "unsure" | "delivered";
}

/**
 * The key of a question for which its server does not wait, as a message says: it takes the question back, or uses its
 * id again. Other messages prove nothing: a server may ask twice at once, or tell of its progress while it waits.
 */
export function keyClosedBy(message: JsonRpcMessage): string | undefined {
  if (isRequest(message)) return JSON.stringify(message.id);
  const isTakenBack = methodOf(message) === "notifications/cancelled";
  return isTakenBack ? JSON.stringify(paramsOf(message)?.["requestId"]) : undefined;
}

/** Sends each answer once. @returns why those were not taken that were not, by their keys */
async function sendEach(call: KeptCall, answers: Answers, leg: LegOptions) {
  const missing = new Map<string, Missing>();
  for (const [key, result] of Object.entries(answers)) {
    const sent = await sendAbout(
      call,
      { message: { id: JSON.parse(key) as unknown, result } },
      leg,
    );
    if ("response" in sent) letGo(sent.response);
    else missing.set(key, sent.outcome);
  }
  return missing;
}

/**
 * Answers the questions of a session's server.
 *
 * @returns the answers that may be lost, of earlier rounds too; an outcome if some were certainly not taken
 */
export async function answerAsked(
  call: KeptCall,
  responses: Answers,
  leg: LegOptions,
): Promise<Pick<KeptCall, "unsure"> & { readonly outcome?: LegOutcome }> {
  const missing = await sendEach(call, responses, leg);
  const keys = Object.keys(responses);
  const isUnsure = (key: string) => missing.get(key)?.type === "unsure";
  if (keys.some(isUnsure)) leg.onAnswer?.("unsure");
  const unsure = answersWhere(call.unsure, (key) => isUnsure(key) || !keys.includes(key));
  const unsent = keys.filter((key) => missing.has(key) && !isUnsure(key));
  if (unsent.length === 0) return { unsure };
  const outcome = missing.get(unsent.at(-1)!) as LegOutcome;
  if (outcome.type === "unknown" || unsent.length === keys.length) return { outcome };
  const requests = Object.fromEntries(unsent.map((key) => [key, call.requests[key]!]));
  return { outcome: { type: "asks", question: { requests, held: call.held, unsure } } };
}

/**
 * Sends answers again on their own session, after a look has shown that the server may wait for them. Servers ignore a
 * second answer.
 *
 * @returns those that may be lost still: what refuses one may stand before the server
 */
export async function answerAgain(
  call: KeptCall,
  isOpen: (key: string) => boolean,
  leg: LegOptions,
): Promise<KeptCall["unsure"]> {
  const answers = answersWhere(call.unsure, isOpen) ?? {};
  const missing = await sendEach(call, answers, leg);
  for (const key of Object.keys(answers)) leg.onAnswer?.(missing.has(key) ? "unsure" : "delivered");
  return answersWhere(answers, (key) => missing.has(key));
}
