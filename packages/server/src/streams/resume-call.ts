import { fingerprint } from "../base/session-id.ts";
import { answeredId, outcomeUnknown } from "../base/json-rpc.ts";
import type { RequestId } from "../base/mcp-types.ts";
import type { StoreContext } from "../records/store-context.ts";
import { storeKeyPrefix } from "../records/store-key.ts";
import { findQuestion } from "../records/stored-question.ts";
import { answerKey, parseCallRecord } from "./call-record.ts";
import type { CallRecord, StreamEvent } from "./call-record.ts";
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

type FollowedCall = Omit<BrokenStream, "eventIds">;

async function readCall(context: StoreContext, broken: FollowedCall): Promise<StoredCall> {
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

/** `"asked"`: the call runs nowhere, and waits for its client's answers. */
type CallLife = Awaited<ReturnType<StoreContext["replica"]["look"]>> | "asked";

/** The life of a call in the process that has it now, which may be one that has claimed it. */
async function lifeOf(context: StoreContext, { call, hash }: FollowedCall): Promise<CallLife> {
  const { replica } = context;
  const name = callKey(call);
  const first = await replica.look(call.replica, name, call.renewals);
  if (first === "in-flight") return first;
  const question = await findQuestion(context, hash, name);
  if (!question) return first;
  if (!question.claimed) return "asked";
  return await replica.look(question.claimed.replica, name, question.claimed.renewals);
}

/** How much less often a stream looks for what a person has to do first. */
const rarely = 10;

/** `followCall`, as the parts of a stream. */
export async function* resumeCall(
  context: ResumeContext,
  broken: BrokenStream,
  signal: AbortSignal,
): AsyncGenerator<StreamPart> {
  const eventId = broken.eventIds.of(broken.call);
  for await (const { place, message } of followCall(context, broken, signal)) {
    yield { type: "message", eventId: eventId(place), message };
  }
}

/**
 * The rest of a call's answer stream, from the store, wherever the call runs. It ends with the last
 * answer; when the process that had the call is gone, that answer is an error.
 */
export async function* followCall(
  context: ResumeContext,
  broken: FollowedCall,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const { settings } = context;
  const { call, hash } = broken;
  const { pollIntervalMs } = settings.timeouts;
  let { place } = broken;
  /** The same, up to the first that is not stored any more. */
  let last = place;
  let isDeclared = false;
  const watching = context.signals.watchHere(answerKey(context, hash, callKey(call)));
  let claims: ReturnType<StoreContext["signals"]["watch"]> | undefined;
  try {
    while (!signal.aborted) {
      // Asked first: a call that has finished by now has stored its answer, if it ever will.
      const life = await lifeOf(context, broken);
      const stored = await readCall(context, { ...broken, place });
      for (const event of stored.events) {
        ({ place } = event);
        if (place === last + 1) last = place;
        yield event;
      }
      if (stored.isAnswered) return;
      if (life === "asked") {
        claims ??= context.signals.watch(context.topicOf(hash));
        await claims.next(rarely * pollIntervalMs, signal);
      } else if (life === "in-flight") {
        await watching.next(pollIntervalMs, signal);
      } else if (life === "dead" && !isDeclared) {
        // Whether this write or another succeeds, the next round reads the stored answer.
        const { owner } = broken;
        const events = lostAnswers(stored.unanswered);
        await context.declareLost({ hash, owner, call: callKey(call), events, last });
        isDeclared = true;
      } else {
        // No answer was stored, or one that cannot be read.
        context.emit({ type: "outcome-unknown", session: fingerprint(hash) });
        for (const event of lostAnswers(stored.unanswered)) {
          if (event.place > place) yield event;
        }
        return;
      }
    }
  } finally {
    claims?.stop();
    watching.stop();
  }
}

/** At the very end: the lost process may have sent more than is stored, to a client that has it. */
function lostAnswers(requestIds: readonly RequestId[]): StreamEvent[] {
  const first = lastPlace - requestIds.length + 1;
  return requestIds.map((id, index) => ({ place: first + index, message: outcomeUnknown(id) }));
}
