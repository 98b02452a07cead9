import { fingerprint } from "../base/session-id.ts";
import { answeredId, outcomeUnknown } from "../base/json-rpc.ts";
import type { RequestId } from "../base/mcp-types.ts";
import { commitRows } from "../records/commit-rows.ts";
import type { StoreContext } from "../records/store-context.ts";
import { storeKeyPrefix } from "../records/store-key.ts";
import { answerKey, newCallRow } from "./call-log.ts";
import { parseCallRecord, type StreamEvent } from "./call-record.ts";
import { type CallName, callKey, lastPlace, type SessionEventIds } from "./event-id.ts";
import type { StreamPart } from "./event-stream-answer.ts";

/** The stream of a call, of which a client has the beginning. */
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
  /** Its answer is stored. */
  readonly isAnswered: boolean;
}

async function readCall(context: StoreContext, broken: BrokenStream): Promise<StoredCall> {
  const { store, settings } = context;
  const call = callKey(broken.call);
  // In this order: the messages before an answer are stored before it.
  const answer = parseCallRecord((await store.get(answerKey(context, broken.hash, call)))?.value);
  const prefix = storeKeyPrefix(settings.name, "messages", broken.hash, call);
  const page = await store.list({ prefix, limit: 1_000 });
  const earlier = page.records.flatMap(({ value }) => parseCallRecord(value)?.events ?? []);
  const events = [...earlier, ...(answer?.events ?? [])]
    .filter((event) => event.place > broken.place)
    .toSorted((a, b) => a.place - b.place);
  return { events, isAnswered: answer !== undefined };
}

/** Whether the client has every message that the stream will ever have. */
export async function isFinished(context: StoreContext, broken: BrokenStream): Promise<boolean> {
  if (broken.place === lastPlace) return true;
  const { events, isAnswered } = await readCall(context, broken);
  return isAnswered && events.length === 0;
}

/**
 * The rest of a call's answer stream, from the store, wherever the call runs. It ends with the last
 * answer; when the process that had the call is gone, that answer is an error.
 */
export async function* resumeCall(
  context: StoreContext,
  broken: BrokenStream,
  signal: AbortSignal,
): AsyncGenerator<StreamPart> {
  const { replica, settings } = context;
  const { call, hash } = broken;
  const eventId = broken.eventIds.of(call);
  const unanswered = new Set(call.requestIds);
  let { place } = broken;
  // If this stream breaks too, its client knows its place only from the ids in this stream.
  yield { type: "prime", eventId: eventId(place) };
  const watching = context.signals.watchHere(answerKey(context, hash, callKey(call)));
  try {
    while (!signal.aborted) {
      // Asked first: a call that has finished by now has stored its answer, if it ever will.
      const life = await replica.look(call.replica, callKey(call), call.renewals);
      const { events, isAnswered } = await readCall(context, { ...broken, place });
      for (const event of events) {
        ({ place } = event);
        const answered = answeredId(event.message);
        if (answered !== undefined) unanswered.delete(answered);
        yield { type: "message", eventId: eventId(place), message: event.message };
      }
      if (isAnswered) return;
      if (life === "finished") {
        context.emit({ type: "outcome-unknown", session: fingerprint(hash) });
        for (const id of unanswered) {
          yield { type: "message", eventId: eventId(lastPlace), message: outcomeUnknown(id) };
        }
        return;
      }
      if (life === "dead") await declareLost(context, broken, place, [...unanswered]);
      else await watching.next(settings.timeouts.pollIntervalMs, signal);
    }
  } finally {
    watching.stop();
  }
}

/** Whether this write or another succeeds, the next round reads the stored answer. */
async function declareLost(
  context: StoreContext,
  { hash, owner, call }: BrokenStream,
  place: number,
  unanswered: readonly RequestId[],
): Promise<void> {
  const events = unanswered.map((id, index) => ({
    place: place + 1 + index,
    message: outcomeUnknown(id),
  }));
  const key = answerKey(context, hash, callKey(call));
  const tombstone = { version: 1, events, isTombstone: true } as const;
  const row = newCallRow(context, key, tombstone, owner);
  if ((await commitRows(context.store, [row])) === "stored") {
    context.emit({ type: "outcome-unknown", session: fingerprint(hash) });
  }
}
