import { wait } from "../../base/bounded-wait.ts";
import { McpSessionError } from "../../base/mcp-session-error.ts";
import { answerHeld } from "./held-call.ts";
import { checkInputResponses } from "../questions/check-input-responses.ts";
import { sendClaimed, type Sent } from "./claim.ts";
import { readCall } from "./current-call.ts";
import { type InputResponses, urlElicitationRequired } from "../questions/input-request.ts";
import { type LegOptions, sendLeg } from "../legs/send-leg.ts";
import { askedElsewhere, notAsked, notWaiting } from "../record/waiting-failure.ts";
import type { WaitingContext } from "./waiting-context.ts";
import { isOpen } from "../record/waiting-life.ts";
import type { QuestionCall, WaitingRecord } from "../record/waiting-record.ts";
import type { StoredCall } from "../record/waiting-store.ts";

export interface AnswerOptions extends LegOptions {
  /** Where answers may go: questions of another URL are refused. */
  readonly url: URL;
  /** The round that the answers are for: answers to earlier questions are refused. @default any */
  readonly round?: number | undefined;
}

/**
 * Answers a waiting call: claims it, and sends one leg, at most once. To a server that keeps the call an answer goes out
 * again until it is known to be there.
 *
 * @returns the call as it is then
 * @throws {McpSessionError} `NOT_WAITING`, `INPUT_INVALID`, `STORE_FAILED`; `CONNECTION_UNAVAILABLE` or the code
 *   that says why, if the leg was certainly not carried out, and the questions still wait
 */
export async function answerCall(
  context: WaitingContext,
  id: string,
  responses: InputResponses,
  { round, url, ...leg }: AnswerOptions,
): Promise<WaitingRecord> {
  const { call, revision } = await readCall(context, id);
  if (call.url !== url.href) throw askedElsewhere(call);
  // Whoever noticed it first: all late answers are told the same.
  if (call.state === "expired") return call;
  if (isOpen(call) && call.type !== "question") throw notAsked(call);
  const isRound = round === undefined || round === call.round;
  if (!isAsking(call) || !isRound) throw notWaiting(call.state);
  const isExpired = call.expiresAt <= context.now();
  const checked = isExpired ? undefined : checkInputResponses(call.requests, responses);
  const sent = await answerClaimed(context, { call, revision }, checked, leg);
  if (sent.failure !== undefined) throw sent.failure.error;
  return await goOn(context, sent.call, leg);
}

/** The pause before a request that only repeats the server's state, in milliseconds. */
const retryMs = 1_000;
/** So often the store may fail before such a request. */
const mostFailures = 5;

/**
 * Goes on without a person as long as the server has no question, and only wants another request. If that fails,
 * the call waits without a question, and an answer without members goes on.
 */
export async function goOn(
  context: WaitingContext,
  call: WaitingRecord,
  leg: LegOptions,
): Promise<WaitingRecord> {
  let current = call;
  let failures = 0;
  while (wantsRequest(current)) {
    const isLeft = await wait(retryMs, leg.signal).then(
      () => false,
      () => true,
    );
    if (isLeft) return current;
    try {
      const { call: asking, revision } = await readCall(context, call.id);
      if (!wantsRequest(asking)) return asking;
      const sent = await answerClaimed(context, { call: asking, revision }, {}, leg);
      if (sent.failure !== undefined) return sent.call;
      current = sent.call;
    } catch (error) {
      const code = McpSessionError.isInstance(error) ? error.code : undefined;
      // Nothing was sent: the claim, or what comes before it, has failed.
      if (code === "STORE_FAILED" && failures++ < mostFailures) continue;
      if (code === "STORE_FAILED") return current;
      if (code !== "NOT_WAITING") throw error;
      // Another process goes on, or the call was deleted.
      const found = await readCall(context, call.id).catch(() => Promise.reject(error));
      return found.call;
    }
  }
  return current;
}

const isAsking = (call: WaitingRecord): call is QuestionCall =>
  call.type === "question" && call.state === "waiting";

const wantsRequest = (call: WaitingRecord): call is QuestionCall =>
  isAsking(call) && Object.keys(call.requests).length === 0;

const declined = {
  code: urlElicitationRequired,
  message:
    "The person did not agree to open what the server asks for. The call was not carried out.",
};

/** @param responses `undefined` to start the call over */
async function answerClaimed(
  context: WaitingContext,
  stored: StoredCall<QuestionCall>,
  responses: InputResponses | undefined,
  leg: LegOptions,
): Promise<Sent> {
  const { call: before } = stored;
  // They are claimed with the call: who finds it after a kill sends them, as soon as the claim is over.
  const unsure = before.held && { unsure: { ...before.unsure, ...responses } };
  // Some servers want another request without an answer.
  const isAnswer = Object.keys(responses ?? {}).length > 0;
  const kept = { ...before, ...unsure, ...(isAnswer && { by: context.by ?? "the user" }) };
  return await sendClaimed(context, { ...stored, call: kept }, async ({ call }) => {
    if (call.held) return await answerHeld(context, call, responses ?? {}, leg);
    // Its server knows nothing of the question, so a refusal ends the call here.
    const isDeclined = Object.values(responses ?? {}).some(({ action }) => action !== "accept");
    if (call.isRefused && isDeclined) return { type: "settles", answer: { error: declined } };
    const outcome = await sendLeg(call, responses, leg);
    const isOver = outcome.type === "expired" && responses !== undefined;
    return isOver && context.limits.onExpired === "ask-again"
      ? await sendLeg(call, undefined, leg)
      : outcome;
  });
}
