import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import { type WaitingCall, waitingCallOf } from "@durable-mcp/core/waiting";
import type { SlowProgram } from "../servers/slow.ts";
import { createLab, type LabUse } from "../waiting/waiting-lab.ts";

/**
 * What became of a call: its result is known; nobody knows whether it was carried out; nobody has it, because it has no
 * record.
 */
export type Fate = "settled" | "unknown" | "lost";

export interface EndOfCall {
  readonly fate: Fate;
  /** The conversation with the result. */
  readonly said: string;
}

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

/** The one call of an agent session, which its server keeps, in process after process. */
export function startKeptCall(server: SlowProgram, use: LabUse, store: SessionStore) {
  let id: string | undefined;
  let aheadMs = 0;
  /** @param byMs how much later it starts than the one before */
  const newProcess = (byMs = 5_000) => {
    aheadMs += byMs;
    const ownMs = aheadMs;
    return createLab(use, { store, now: () => Date.now() + ownMs });
  };
  const works = () => server.works.filter(({ topic }) => topic === use.sessionId);
  /** The answers that the server has got, in order. */
  const years: string[] = [];
  server.onMessage = (message) => {
    const { year = message } = message.params?.inputResponses ?? {};
    const answer = year.result ?? year;
    if (answer.action === "accept") years.push(answer.content.year);
  };

  /** One process looks, and an operator's; if it is a question, two answer at once. @returns the call, if it waits */
  const goOn = async (byMs: number): Promise<WaitingCall | undefined> => {
    const both = [newProcess(byMs), newProcess(0)] as const;
    for (const work of works()) if (work.state === "working") work.set("done");
    const looked = await Promise.all([both[0].look(), both[1].lookAsOperator()]);
    const [call] = await both[0].waiting();
    id ??= looked.flat()[0]?.id ?? call?.id;
    if (call?.type === "question")
      await Promise.allSettled(both.map((lab) => lab.answer(call, "2001")));
    return call;
  };

  return {
    newProcess,
    works,
    years,
    /** Makes the call, whose work is then so at the server. @returns its id */
    async begin(state: "working" | "asking" | "done", isLookedAt: boolean): Promise<string> {
      id = waitingCallOf(await newProcess(0).research())!.id;
      works()[0]!.set(state);
      if (isLookedAt) await newProcess().look();
      return id;
    },
    /** Lets time pass: a claim without a sign of life since is over. */
    passClaims: () => void (aheadMs += 2 * minuteMs),
    /** Has other processes bring the call to its end. */
    async bringToEnd(fault: (text: string) => void): Promise<EndOfCall> {
      if (use.record === "first" && id === undefined) {
        // The step is run again, with the same call.
        const made = await newProcess().research().catch(codeOf);
        id = waitingCallOf(made)?.id;
        const fate = typeof made === "string" ? "unknown" : "settled";
        if (id === undefined) return { fate, said: JSON.stringify(made) };
      }
      // A session's question that nobody has any more is only over when the call has expired.
      for (const byMs of [10_000, 10_000, 10_000, 10_000, 8 * dayMs, 8 * dayMs]) {
        const call = await goOn(byMs);
        if (call === undefined) break;
        if (call.state !== "waiting") fault(`it is still ${call.state}, and its process is gone`);
      }
      if (id === undefined) return { fate: "lost", said: "" };
      const { messages, stillWaiting } = await newProcess().resume(id);
      if (stillWaiting.length > 0) fault("nobody could settle it");
      const said = JSON.stringify(messages);
      return { fate: said.includes("unknown") ? "unknown" : "settled", said };
    },
  };
}

/** The code with which a step's call has failed. */
function codeOf(error: unknown): string {
  if (!McpSessionError.isInstance(error)) throw error;
  return error.code;
}
