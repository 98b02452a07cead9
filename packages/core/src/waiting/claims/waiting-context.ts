import type { McpSessionError } from "../../base/mcp-session-error.ts";
import { within } from "../../base/bounded-wait.ts";
import { guarded } from "../../base/observe.ts";
import type { AnswerUnsureEvent } from "../legs/unsure-answers.ts";
import { describeWaiting } from "../record/describe-waiting.ts";
import type { WaitingRecord } from "../record/waiting-record.ts";
import type { WaitingState } from "../record/waiting-call.ts";
import type { WaitingLimits } from "../record/waiting-limits.ts";
import { defaultClaimMs } from "../record/due-calls.ts";
import type { AtEnd } from "../record/step-marks.ts";
import type { WaitingStore } from "../record/waiting-store.ts";

/** Tells of a call that waits, or that would have to, without its id. */
export type WaitingEvent =
  | WaitingCallEvent
  | CannotWaitEvent
  | CallNotKeptEvent
  | AnswerUnsureEvent;

/** The store has not taken what became of a call, although it was tried for some seconds. */
export interface CallNotKeptEvent {
  readonly type: "store-failed";
  readonly operation: "keep";
  /** The server's name of the tool or prompt, or the resource's URI. */
  readonly tool: string;
  /** Says how far the call is. It has no `cause`. */
  readonly error: McpSessionError;
}

/**
 * A call takes longer than a step waits, and nothing takes it from its step: no task (revision 2026-07-28), or no event
 * ids. It ends with its process. `unheard`: it ended as if a person had been asked on a stream that no step opens.
 */
export interface CannotWaitEvent {
  readonly type: "cannot-wait";
  /** The server's name of the tool or prompt, or the resource's URI. */
  readonly tool: string;
  readonly reason: "no-task" | "no-event-id" | "unheard";
}

/** Tells of the new state of a waiting call, without its id. */
export interface WaitingCallEvent {
  readonly type: "waiting-call";
  /** The server's name of the tool or prompt, or the resource's URI. */
  readonly tool: string;
  /** Counts the server's questions, from 1; 0 before the first. */
  readonly round: number;
  readonly state: WaitingState;
  /** Of `admin.answer` and `admin.withdraw`: the operator's name, as it was given. */
  readonly by?: string | undefined;
}

/**
 * Claims the next request of a waiting call. It must return `true` once for each `key`, over all processes: such as an
 * insert into a table with a unique key.
 */
export type ClaimLeg = (leg: { readonly key: string }) => boolean | Promise<boolean>;

/** What the parts of waiting calls share. */
export interface WaitingContext {
  readonly calls: WaitingStore;
  readonly limits: WaitingLimits & {
    readonly maxAgeMs: number;
    readonly maxBytes: number | undefined;
  };
  /** For a store that does not compare and set across processes. */
  readonly claimLeg?: ClaimLeg | undefined;
  /** How long a claim lasts without a sign of life of its process, in milliseconds. */
  readonly claimMs: number;
  /** How long the end of a leg may take: to keep its outcome, and to tell `onWaiting`. In milliseconds. */
  readonly closeTimeoutMs: number;
  readonly emit: (event: WaitingEvent) => void;
  /** Goes to the connection's server, with its token. Not there where nothing is sent. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** When the calls of the step have to be left, in milliseconds since 1970-01-01 UTC. @default never */
  readonly leaveAt?: number | undefined;
  /** Has the end of the step wait for work that nobody else waits for. */
  readonly track?: ((work: Promise<unknown>) => void) | undefined;
  readonly atEnd?: AtEnd | undefined;
  /** What takes out of a server's errors what a connection sends for itself with a call, such as its token. */
  readonly scrubFor?: ScrubFor | undefined;
  readonly now: () => number;
  /** The name of the operator who acts. @default the user */
  readonly by?: string | undefined;
}

/** Makes the function that takes secrets out of what a server says of a call. */
export type ScrubFor = (call: Pick<WaitingRecord, "request">) => (text: string) => string;

/** Whether the calls of a connection may wait for this. */
export function isFor({ limits }: WaitingContext, type: "question" | "task" | "stream"): boolean {
  return limits.for?.includes(type === "question" ? "person" : type) ?? true;
}

type GivenPart = "now" | "by" | "claimLeg" | "scrubFor" | "fetch" | "leaveAt" | "track" | "atEnd";

/** The parts of a context that have a default. */
export function createWaitingContext(
  calls: WaitingStore,
  {
    onEvent,
    now,
    claimLeg,
    claimMs = defaultClaimMs,
    closeTimeoutMs = 10_000,
    by,
    scrubFor,
    fetch,
    leaveAt,
    track,
    atEnd,
    maxAgeMs = 604_800_000,
    ...limits
  }: WaitingLimits &
    Pick<WaitingContext, GivenPart> & {
      readonly onEvent?: ((event: WaitingEvent) => void) | undefined;
      readonly claimMs?: number | undefined;
      readonly closeTimeoutMs?: number | undefined;
    },
): WaitingContext {
  return {
    calls,
    limits: { ...limits, maxAgeMs, maxBytes: calls.maxBytes },
    claimLeg,
    claimMs,
    closeTimeoutMs,
    emit: guarded(onEvent),
    ...{ scrubFor, fetch, leaveAt, track, atEnd, now, by },
  };
}

/** Tells of the state that a call has now. @param before the call until now; `undefined` for a new one */
export async function tellWaiting(
  context: WaitingContext,
  record: WaitingRecord,
  before?: WaitingRecord,
): Promise<void> {
  const { emit, calls, limits } = context;
  // Of a call with a record from the start, that is over within its step, its caller has heard.
  const isInStep = [record, before].every((each) => each === undefined || isUnderWay(each));
  if (isInStep && ["answering", "settled"].includes(record.state)) return;
  const call = describeWaiting(record);
  const { tool, round, state } = call;
  // After an answer that was not sent, the same questions wait again, and after a look the same call does.
  const isNew = round !== before?.round;
  const isLooked = before?.state === "answering" && before.type === record.type && !isNew;
  if (!isLooked || state !== "waiting" || before.held === undefined)
    emit({ type: "waiting-call", tool, round, state });
  // Some servers only want another request, which needs no person.
  const isAsked = state === "waiting" && isNew && Object.keys(call.requests).length > 0;
  if (isAsked) await telling(context, "onWaiting", async () => limits.onWaiting?.(call));
  const isOver = before !== undefined && !["waiting", "answering", "withdrawn"].includes(state);
  const { sessionId, principal } = calls.of;
  const of = { sessionId, principal };
  if (isOver) await telling(context, "onSettled", async () => limits.onSettled?.(call, of));
}

/** Whether a call has not waited: its record was written before it was sent, and nobody was to look at it. */
const isUnderWay = ({ type, pollAfter }: WaitingRecord) =>
  (type === "task" || type === "stream") && pollAfter === undefined;

/** Has a function of the application run, for as long as the end of a leg may take. */
async function telling(
  { closeTimeoutMs }: WaitingContext,
  name: "onWaiting" | "onSettled",
  tell: () => Promise<void>,
): Promise<void> {
  if (await within(closeTimeoutMs, tell()).catch(() => false)) return;
  console.warn(
    `${name} failed, or took longer than ${closeTimeoutMs} ms. The call is kept all the same; the list of waiting calls, or find, has it.`,
  );
}
