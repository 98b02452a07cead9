import { isPrintable, isRecord } from "../../base/json-values.ts";
import {
  anyNumber,
  anyOf,
  anyRecord,
  anyText,
  anyWhole,
  exactly,
  listOf,
  openRecordOf,
  recordOf,
  type Shape,
  type Shaped,
  when,
} from "../../base/shape.ts";
import type { JsonValue } from "../../stores/session-store.ts";
import { anyHeld, type HeldStream, type HeldTask, type HeldWatch } from "./held.ts";
import { areRequests, type InputRequests } from "../questions/input-request.ts";
import { askingMethods, type WaitingType } from "./waiting-call.ts";

/** A JSON-RPC error of the server. */
export interface WaitingError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The outcome of a settled call: the server's result, or its error. */
export type WaitingAnswer =
  | { readonly result: Readonly<Record<string, unknown>>; readonly error?: undefined }
  | { readonly error: WaitingError; readonly result?: undefined };

const yes = exactly(true);

const answer = anyOf(
  recordOf({ result: anyRecord }),
  recordOf({ error: openRecordOf({ code: anyNumber, message: anyText }) }),
) as Shape<WaitingAnswer>;

/** The questions of a round, in one of the interrupts of a graph's task. */
const shownRound = recordOf({
  round: anyWhole,
  /** Counts the interrupts of the task, from 0. */
  place: anyWhole,
  /** Names the checkpoint from which the graph goes on. */
  "checkpoint?": anyText,
  /** Whether they are shown again because nobody knows for which questions the answer before was. */
  "isUnclear?": yes,
});
export type ShownRound = Shaped<typeof shownRound>;

/** The newest format. Calls that their server keeps have it, so that older releases leave them alone. */
export const newestVersion = 2;

/** What every call has. A field that is added has to be optional: older records have to load. */
const common = {
  version: exactly(1, newestVersion),
  id: anyText,
  connection: anyText,
  url: when<string>((value) => URL.canParse(String(value))),
  "toolCallId?": anyText,
  /** The tool calls of agents around it, the root's first. */
  "path?": listOf(recordOf({ toolName: anyText, toolCallId: anyText })),
  /** The ids of calls that repeat it, and get its result. */
  "repeatedBy?": listOf(anyText),
  /** Of the method, the tool, and the input as the caller gave it. */
  digest: anyText,
  /** The request of a call, as each of its legs repeats it. */
  request: recordOf({
    method: exactly(...askingMethods),
    /** Without the fields of one leg: answers, `requestState`, progress token and trace context. */
    params: anyRecord,
    /**
     * The headers that describe the request: `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`; and
     * `Mcp-Session-Id` of a call on a session.
     */
    headers: when<Readonly<Record<string, string>>>(
      (value) => isRecord(value) && Object.values(value).every((one) => typeof one === "string"),
    ),
  }),
  round: anyWhole,
  /** Names the next leg among all legs of all calls. */
  leg: anyText,
  /** The questions of the round. */
  requests: when<InputRequests>(areRequests),
  /** Names its entry among the calls that can be looked at. */
  "due?": anyText,
  askedAt: anyNumber,
  expiresAt: anyNumber,
  /** Where a graph has shown the questions of a round: at which of the interrupts of its task. */
  "shown?": listOf(shownRound),
  /** The process that sends answers, or was the last to do so in this round. */
  "claim?": recordOf({ token: anyText, at: anyNumber }),
  /** Of the tool, when the call began to wait for a sign-in. */
  "annotations?": anyRecord,
  /** Names the entry that stands as long as perhaps no conversation has the call: until the step that made it ends. */
  "step?": anyText,
  /** Of the first of several calls that are alike: the number of the first that may not be delivered. */
  "nextTurn?": anyWhole,
  /** Who answered last, or took it back: an operator's name, or "the user". */
  "by?": anyText,
};

/** What some calls have, by their type or state. */
const particular = {
  requestState: anyText,
  /** Whether the server has refused the call until a person has been at a URL: then it goes out as it was. */
  isRefused: yes,
  /** What the server keeps of the call, or of its answer, if that is too long for a record. */
  held: anyHeld,
  /** Answers that are on their way to a server that keeps the call, or may be lost. */
  unsure: anyRecord,
  /** Not looked at before. */
  pollAfter: anyNumber,
  /** Since when every look has failed: its server is away, or refuses. */
  failingSince: anyNumber,
  /** Whether it is the call of a stand-in for a connection's tools, which is never sent. */
  isStandIn: yes,
  /** The named or shared session in which it was made. */
  session: recordOf({ "name?": anyText, "shared?": anyText }),
  /** Of a tool in which agents run: the messages of each that began in it. */
  histories: listOf(listOf(anyRecord)),
  /** The ids of the sub-agents' calls for which it waits. */
  waitsFor: listOf(anyText),
  answer,
  /** Whether a conversation has got the result. */
  isDelivered: yes,
};

/** What each has of these, and may have. `in-step`: a call that nobody looks at but the step that makes it. */
const ofEach = {
  question: [[], ["requestState", "isRefused", "held", "unsure"]],
  "call-waits-for-sign-in": [[], ["isStandIn", "session"]],
  "sub-agent": [["histories", "waitsFor"], []],
  task: [
    ["held", "pollAfter"],
    ["unsure", "failingSince"],
  ],
  stream: [
    ["held", "pollAfter"],
    ["unsure", "failingSince"],
  ],
  watch: [
    ["held", "pollAfter"],
    ["unsure", "failingSince"],
  ],
  "in-step": [[], ["held"]],
  ended: [[], ["isStandIn", "held", "answer", "isDelivered"]],
} as const;

const endStates = ["settled", "expired", "outcome-unknown", "withdrawn"] as const;
const call = openRecordOf({
  ...common,
  state: exactly("waiting", "answering", ...endStates),
  ...(Object.fromEntries(
    Object.entries(particular).map(([name, shape]) => [`${name}?`, shape]),
  ) as object),
});

type Own<NAME extends keyof typeof particular> = Shaped<(typeof particular)[NAME]>;
type Of<EACH extends keyof typeof ofEach> = {
  readonly [NAME in (typeof ofEach)[EACH][0][number]]: Own<NAME>;
} & { readonly [NAME in (typeof ofEach)[EACH][1][number]]?: Own<NAME> | undefined };
/** What every call has. */
export type CommonFields = Omit<Shaped<typeof call>, "state">;
type Open<TYPE extends WaitingType> = CommonFields & {
  readonly type: TYPE;
  readonly state: "waiting" | "answering";
};
type Variant =
  | (Open<"question"> & Of<"question">)
  | (Open<"call-waits-for-sign-in"> & Of<"call-waits-for-sign-in">)
  | (Open<"sub-agent"> & Of<"sub-agent">)
  | (Open<"task"> & Of<"task"> & { readonly held: HeldTask })
  | (Open<"stream"> & Of<"stream"> & { readonly held: HeldStream })
  | (Open<"watch"> & Of<"watch"> & { readonly held: HeldWatch })
  | (Open<"stream"> & Of<"in-step">)
  | (CommonFields & Of<"ended"> & { readonly type: WaitingType; readonly state: EndState });
type EndState = (typeof endStates)[number];
type KeyOf<UNION> = UNION extends unknown ? keyof UNION : never;
/** What others have and one does not can be read of it, as `undefined`. */
type Readable<UNION, KEY extends PropertyKey = KeyOf<UNION>> = UNION extends unknown
  ? UNION & { readonly [NAME in Exclude<KEY, keyof UNION>]?: undefined }
  : never;

/** A waiting call in a store. `requestState`, `held`, `unsure` and the headers are as secret as a session id. */
export type WaitingRecord = Readable<Variant>;
/** A call that waits or is being answered. */
export type OpenCall = Extract<WaitingRecord, { readonly state: "waiting" | "answering" }>;
export type EndedCall = Exclude<WaitingRecord, OpenCall>;
/** A call that its server keeps, and works on. */
export type HeldCall = Extract<OpenCall, { readonly pollAfter: number }>;
export type QuestionCall = Extract<OpenCall, { readonly type: "question" }>;
export type ParkedCall = Extract<OpenCall, { readonly type: "call-waits-for-sign-in" }>;
export type AgentCall = Extract<OpenCall, { readonly type: "sub-agent" }>;
export type WatchCall = Extract<OpenCall, { readonly type: "watch" }>;
/** A call in the step that makes it. */
export type CallOfStep = Exclude<Extract<OpenCall, { readonly type: "stream" }>, HeldCall>;

/** How records name the types. */
const storedKinds: Readonly<Record<WaitingType, string>> = {
  question: "input",
  "call-waits-for-sign-in": "authorization",
  "sub-agent": "agent",
  task: "task",
  stream: "stream",
  watch: "watch",
};
const types = Object.keys(storedKinds) as WaitingType[];

/** A record as a store has it. It is JSON by construction. */
export function printWaitingRecord({ type, ...record }: WaitingRecord): JsonValue {
  return { ...record, kind: storedKinds[type] } as unknown as JsonValue;
}

/** Parses a record from outside; `undefined` if it does not parse. */
export function parseWaitingRecord(value: unknown): WaitingRecord | undefined {
  if (!isPrintable(value) || call(value) !== undefined) return undefined;
  const { kind, ...record } = value as WaitingRecord & { readonly kind: unknown };
  const type = types.find((each) => storedKinds[each] === kind);
  if (type === undefined) return undefined;
  const { state, held, pollAfter } = record;
  const isEnded = (endStates as readonly string[]).includes(state);
  const each = isEnded ? "ended" : type === "stream" && pollAfter === undefined ? "in-step" : type;
  const needed: readonly (keyof typeof particular)[] = ofEach[each][0];
  const isWhole = needed.every((name) =>
    name === "held" ? held?.type === type : record[name] !== undefined,
  );
  return isWhole ? ({ ...record, type } as WaitingRecord) : undefined;
}

const ofSome: ReadonlySet<string> = new Set(["type", "state", ...Object.keys(particular)]);

/** What a call keeps of itself when its type or state changes. */
export function commonOf(before: WaitingRecord): CommonFields {
  const kept = Object.entries(before).filter(([name]) => !ofSome.has(name));
  return Object.fromEntries(kept) as unknown as CommonFields;
}
