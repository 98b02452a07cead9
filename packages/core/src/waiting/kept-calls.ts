import { answerCall, type AnswerOptions } from "./claims/answer-call.ts";
import { type ClaimedOutcome, markUntilEnd, sendClaimed, settleCall } from "./claims/claim.ts";
import { readCall, showCall, upToDate } from "./claims/current-call.ts";
import { answerOnServer, cancelHeld, isDue, lookAt } from "./claims/held-call.ts";
import type { LegOptions } from "./legs/send-leg.ts";
import { findWatch, keepWatch, type Watch } from "./claims/keep-watch.ts";
import { type AgentsWaiting, findParked, keepAgentCall, parkCall } from "./claims/park-call.ts";
import {
  createWaitingContext,
  tellWaiting,
  type WaitingContext,
} from "./claims/waiting-context.ts";
import type { InputResponses } from "./questions/input-request.ts";
import { notWaiting } from "./record/waiting-failure.ts";
import { isRepeated, over } from "./record/waiting-life.ts";
import type {
  OpenCall,
  ShownRound,
  WaitingAnswer,
  WaitingRecord,
} from "./record/waiting-record.ts";
import type { StoredCall, WaitingStore } from "./record/waiting-store.ts";
import { createWaitingFetch, type WaitingFetchParts } from "./steps/waiting-fetch.ts";

/** The waiting calls of an agent session and principal, as a connection of theirs lets calls wait. */
export type KeptCalls = ReturnType<typeof createKeptCalls>;

type LockedCall = Parameters<typeof parkCall>[1];

/** @param records those of all connections */
export function createKeptCalls(
  records: WaitingStore,
  options: Parameters<typeof createWaitingContext>[1],
) {
  const context = createWaitingContext(records, options);
  return {
    /** As they are stored. */
    records,
    /** A call as it is by now: of a process that is gone, it has no claim, and what is too old has expired. */
    async read(id: string): Promise<StoredCall | undefined> {
      const stored = await records.read(id);
      return stored && (await upToDate(context, stored));
    },
    upToDate: (stored: StoredCall) => upToDate(context, stored),
    isDue: (call: WaitingRecord) => isDue(call, context.now()),
    /** Has the fetch of a client keep calls. */
    wrap: (fetch: typeof globalThis.fetch, of: WaitingFetchParts) =>
      createWaitingFetch(context, fetch, of),

    /** @see answerCall */
    answer: (id: string, responses: InputResponses, use: AnswerOptions) =>
      answerCall(context, id, responses, use),
    /** @see lookAt */
    look: (found: StoredCall, leg: LegOptions) => lookAt(context, found, leg),
    /** @see keepWatch */
    watch: (watch: Watch) => keepWatch(context, watch),
    /** @see findWatch */
    findWatch: (watch: Parameters<typeof findWatch>[1]) => findWatch(context, watch),
    /** @see answerOnServer */
    answerOnServer: (call: WaitingRecord, signal?: AbortSignal) =>
      answerOnServer(context, call, signal),
    withdraw: (id: string) => withdrawCall(context, id),
    /** Asks the server of a call to stop, if it keeps it. Best effort, and in bounded time. */
    async cancel(call: WaitingRecord): Promise<void> {
      const { fetch } = context;
      if (fetch) await cancelHeld(context, call, { fetch });
    },

    /** @see parkCall */
    park: (call: LockedCall) => parkCall(context, call),
    /** @see keepAgentCall */
    parkAgents: (call: LockedCall & AgentsWaiting) => keepAgentCall(context, call),
    /** @see findParked */
    findParked: (call: Omit<LockedCall, "url">) => findParked(context, call),
    /** @see sendClaimed */
    sendClaimed: <CALL extends OpenCall>(
      stored: StoredCall<CALL>,
      send: (claimed: StoredCall<CALL>) => Promise<ClaimedOutcome>,
    ) => sendClaimed(context, stored, send),
    /** @see settleCall */
    settle: (stored: StoredCall<OpenCall>, answer: WaitingAnswer) =>
      settleCall(context, stored, answer),

    /** @see showCall */
    show: (id: string, shown: ShownRound) => showCall(context, id, shown),
    /** Notes that other calls of the model repeat one. @returns whether it is as it was read */
    async noteRepeat(stored: StoredCall, ...ids: string[]): Promise<boolean> {
      return (await records.replace(stored, isRepeated(stored.call, ...ids))) !== undefined;
    },
    /** The calls, by their entries, of steps that have died: perhaps no conversation has them. */
    lost: async () => [...((await records.steps?.idle(context.now())) ?? [])],
    /** This step has a call of a step that has died: its entry goes at the end, and nobody else joins it meanwhile. */
    adopt: (step: string) => markUntilEnd(context, step, () => true),
    /** A conversation has a call of a step that has died: its entry goes at the end of this step. */
    forgetStep: (step: string) =>
      context.atEnd?.(async (isDone) => (isDone ? await records.steps?.end(step) : undefined)),
  };
}

/** Takes a call back, and has a server stop that keeps it, best effort. @throws {McpSessionError} `NOT_WAITING` */
export async function withdrawCall(context: WaitingContext, id: string): Promise<WaitingRecord> {
  const stored = await readCall(context, id);
  const { type, state } = stored.call;
  // A watch ends, whoever looks.
  const isWatch = type === "watch";
  if (state !== "waiting" && !(isWatch && state === "answering")) throw notWaiting(state);
  const { by: _, ...ended } = over(stored.call, "withdrawn");
  const next = { ...ended, ...(context.by !== undefined && { by: context.by }) };
  if ((await context.calls.replace(stored, next)) === undefined) {
    if (isWatch) return await withdrawCall(context, id);
    throw notWaiting("answering");
  }
  await tellWaiting(context, next, stored.call);
  const { fetch, calls } = context;
  // Its server knows nothing of a watch, and whoever reads what is left of its news passes it over.
  if (isWatch) await calls.inbox?.forget(id).catch(() => undefined);
  else if (fetch) await cancelHeld(context, stored.call, { fetch });
  return next;
}
