import { fingerprint } from "../base/session-id.ts";
import { answeredId, outcomeUnknown } from "../base/json-rpc.ts";
import type { RequestId } from "../base/mcp-types.ts";
import type { StoreContext } from "../records/store-context.ts";
import { storeKeyPrefix } from "../records/store-key.ts";
import { answerKey } from "./call-log.ts";
import { type CallRecord, parseCallRecord, type StreamEvent } from "./call-record.ts";
import { type CallName, callKey, lastPlace, type SessionEventIds } from "./event-id.ts";
import type { StreamPart } from "./event-stream-answer.ts";
import type { DeclareLost } from "./lost-calls.ts";

/** The stream of a call whose beginning a client has. */
export interface BrokenStream {
  readonly hash: string;
  readonly owner: string;
  readonly eventIds: SessionEventIds;
  readonly call: CallName;
  /** The last that the client has. */
  readonly place: number;
}

/** What is stored of a call. */
interface StoredCall {
  /** The messages after the client's place, in their order. */
  readonly events: readonly StreamEvent[];
  /** Its requests without an answer so far. */
  readonly unanswered: readonly RequestId[];
  /** Its last answer is stored. */
  readonly isAnswered: boolean;
}

async function readCall(context: StoreContext, broken: BrokenStream): Promise<StoredCall> {
  const { store, settings } = context;
  const call = callKey(broken.call);
  // In this order: the messages before an answer are stored before it.
  const answer = parseCallRecord((await store.get(answerKey(context, broken.hash, call)))?.value);
  const prefix = storeKeyPrefix(settings.name, "messages", broken.hash, call);
  const records: (CallRecord | undefined)[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ prefix, cursor, limit: 1_000 });
    records.push(...page.records.map(({ value }) => parseCallRecord(value)));
    ({ cursor } = page);
  } while (cursor !== undefined);
  const all = [...records, answer].flatMap((record) => record?.events ?? []);
  const events = all
    .filter((event) => event.place > broken.place)
    .toSorted((a, b) => a.place - b.place);
  const answered = new Set(all.map(({ message }) => answeredId(message)));
  const unanswered = broken.call.requestIds.filter((id) => !answered.has(id));
  return { events, unanswered, isAnswered: answer !== undefined };
}

/** Whether the client has every message that the stream will ever have. */
export async function isFinished(context: StoreContext, broken: BrokenStream): Promise<boolean> {
  if (broken.place === lastPlace) return true;
  const { events, isAnswered } = await readCall(context, broken);
  return isAnswered && events.length === 0;
}

interface ResumeContext extends StoreContext {
  readonly declareLost: DeclareLost;
}

/**
 * The rest of a call's answer stream, from the store, wherever the call runs. It ends with the last
 * answer; when the process that had the call is gone, that answer is an error.
 */
export async function* resumeCall(
  context: ResumeContext,
  broken: BrokenStream,
  signal: AbortSignal,
): AsyncGenerator<StreamPart> {
  const { replica, settings } = context;
  const { call, hash } = broken;
  const eventId = broken.eventIds.of(call);
  let { place } = broken;
  let isDeclared = false;
  const watching = context.signals.watchHere(answerKey(context, hash, callKey(call)));
  try {
    while (!signal.aborted) {
      // Asked first: a call that has finished by now has stored its answer, if it ever will.
      const life = await replica.look(call.replica, callKey(call), call.renewals);
      const stored = await readCall(context, { ...broken, place });
      for (const event of stored.events) {
        ({ place } = event);
        yield { type: "message", eventId: eventId(place), message: event.message };
      }
      if (stored.isAnswered) return;
      if (life === "in-flight") {
        await watching.next(settings.timeouts.pollIntervalMs, signal);
      } else if (life === "dead" && !isDeclared) {
        // Whether this write or another succeeds, the next round reads the stored answer.
        const { owner } = broken;
        const events = lostAnswers(stored.unanswered);
        await context.declareLost({ hash, owner, call: callKey(call), events });
        isDeclared = true;
      } else {
        // No answer was stored, or one that cannot be read.
        context.emit({ type: "outcome-unknown", session: fingerprint(hash) });
        for (const event of lostAnswers(stored.unanswered)) {
          if (event.place <= place) continue;
          yield { type: "message", eventId: eventId(event.place), message: event.message };
        }
        return;
      }
    }
  } finally {
    watching.stop();
  }
}

/** At the very end: the lost process may have sent more than is stored, to a client that has it. */
function lostAnswers(requestIds: readonly RequestId[]): StreamEvent[] {
  const first = lastPlace - requestIds.length + 1;
  return requestIds.map((id, index) => ({ place: first + index, message: outcomeUnknown(id) }));
}
