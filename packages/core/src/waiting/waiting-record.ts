import * as z from "zod/mini";
import { isPrintable, isRecord } from "../base/json-values.ts";
import type { InputRequest } from "./input-request.ts";
import { askingMethods, type WaitingCall, type WaitingKind, waitingKinds } from "./waiting-call.ts";

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

type Requests = Readonly<Record<string, InputRequest>>;

/** Taken as they are: a schema would leave out a key `__proto__`. */
export function areRequests(value: unknown): value is Requests {
  return (
    isRecord(value) &&
    Object.values(value).every((one) => isRecord(one) && typeof one["method"] === "string")
  );
}

const record = z.custom<Readonly<Record<string, unknown>>>(isRecord);
const yes = z.optional(z.literal(true));

const answer: z.ZodMiniType<WaitingAnswer> = z.union([
  z.strictObject({ result: record }),
  z.strictObject({ error: z.looseObject({ code: z.number(), message: z.string() }) }),
]);

/** The questions of a round, in one of the interrupts of a graph's task. */
const shownRound = z.strictObject({
  round: z.int(),
  /** Counts the interrupts of the task, from 0. */
  place: z.int(),
  /** Names the checkpoint from which the graph goes on. */
  checkpoint: z.optional(z.string()),
  /** Whether they are shown again because nobody knows for which questions the answer before was. */
  isUnclear: yes,
});
export type ShownRound = Readonly<z.infer<typeof shownRound>>;

const task = z.strictObject({
  type: z.literal("task"),
  taskId: z.string(),
  status: z.string(),
  /** The server's text. */
  statusMessage: z.optional(z.string()),
  /** The server is asked again after this time, in milliseconds. */
  intervalMs: z.number(),
  /** When the server may forget the task. */
  endsAt: z.optional(z.number()),
  /** The keys of questions that have an answer. */
  answered: z.optional(z.array(z.string())),
  /** Of the stream on which a session's task asks: its last event. */
  eventId: z.optional(z.string()),
});
const stream = z.strictObject({
  type: z.literal("stream"),
  /** The request that the stream answers. */
  requestId: z.union([z.string(), z.number()]),
  /** The last event that was read. */
  eventId: z.string(),
});
export type HeldTask = Readonly<z.infer<typeof task>>;
export type HeldStream = Readonly<z.infer<typeof stream>>;
/** What the server keeps of a call, so that any process goes on with it. */
export type Held = HeldTask | HeldStream;

/** The newest format. Calls that their server keeps have it, so that older releases leave them alone. */
export const newestVersion = 2;

const fields = {
  version: z.literal([1, newestVersion]),
  kind: z.enum(Object.keys(waitingKinds) as WaitingKind[]),
  id: z.string(),
  state: z.enum(["waiting", "answering", "settled", "expired", "outcome-unknown", "withdrawn"]),
  connection: z.string(),
  url: z.url(),
  toolCallId: z.optional(z.string()),
  /** The tool calls of agents around it, the root's first. */
  path: z.optional(z.array(z.strictObject({ toolName: z.string(), toolCallId: z.string() }))),
  /** The ids of calls that repeat it, and get its result. */
  repeatedBy: z.optional(z.array(z.string())),
  /** Of the method, the tool, and the input as the caller gave it. */
  digest: z.string(),
  /** The request of a call, as each of its legs repeats it. */
  request: z.strictObject({
    method: z.enum(askingMethods),
    /** Without the fields of one leg: answers, `requestState`, progress token and trace context. */
    params: record,
    /**
     * The headers that describe the request: `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`; and
     * `Mcp-Session-Id` of a call on a session.
     */
    headers: z.record(z.string(), z.string()),
  }),
  round: z.int(),
  /** Names the next leg among all legs of all calls. */
  leg: z.string(),
  requests: z.custom<Requests>(areRequests),
  requestState: z.optional(z.string()),
  /** Whether the server has refused the call until a person has been at a URL: then it goes out as it was. */
  isRefused: yes,
  held: z.optional(z.union([task, stream])),
  /** Answers that are on their way to a server that keeps the call, or may be lost. */
  unsure: z.optional(record),
  /** Not looked at before. */
  pollAfter: z.optional(z.number()),
  /** Names its entry among the calls that can be looked at. */
  due: z.optional(z.string()),
  askedAt: z.number(),
  expiresAt: z.number(),
  /** Where a graph has shown the questions of a round: at which of the interrupts of its task. */
  shown: z.optional(z.array(shownRound)),
  /** The process that sends answers, or was the last to do so in this round. */
  claim: z.optional(z.strictObject({ token: z.string(), at: z.number() })),
  answer: z.optional(answer),
  /** Whether it is the call of a stand-in for a connection's tools, which is never sent. */
  isStandIn: yes,
  /** Of a tool in which agents run: the messages of each that began in it. */
  histories: z.optional(z.array(z.array(record))),
  /** The ids of the sub-agents' calls for which it waits. */
  waitsFor: z.optional(z.array(z.string())),
  /** The named or shared session in which a call waits for a sign-in. */
  session: z.optional(
    z.strictObject({ name: z.optional(z.string()), shared: z.optional(z.string()) }),
  ),
  /** Of the tool, when the call began to wait for a sign-in. */
  annotations: z.optional(record),
  /** Names the entry that stands as long as perhaps no conversation has the call: until the step that made it ends. */
  step: z.optional(z.string()),
  /** Whether a conversation has got the result. */
  isDelivered: yes,
  /** Of the first of several calls that are alike: the number of the first that may not be delivered. */
  nextTurn: z.optional(z.int().check(z.minimum(1))),
};

/** A waiting call in a store. `requestState`, `held`, `unsure` and the headers are as secret as a session id. */
export type WaitingRecord = Readonly<z.infer<z.ZodMiniObject<typeof fields>>>;

/** A record keeps fields that only later releases know. */
const recordSchema = z.looseObject(fields);

/** Parses a record from outside; `undefined` if it does not parse. */
export function parseWaitingRecord(value: unknown): WaitingRecord | undefined {
  if (!isPrintable(value)) return undefined;
  const { data } = recordSchema.safeParse(value);
  return data;
}

/** What an application sees of a record. */
export function describeWaiting(stored: WaitingRecord): WaitingCall {
  const { id, kind, state, connection, url, toolCallId, path, request, round, askedAt, expiresAt } =
    stored;
  const { method, params } = request;
  const { type } = waitingKinds[kind];
  const { held, pollAfter } = stored;
  const status = held?.type === "task" && {
    status: held.status,
    statusMessage: held.statusMessage,
  };
  return {
    ...{ id, type, state, connection, server: new URL(url).origin, method },
    tool: String(params[method === "resources/read" ? "uri" : "name"]),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(path !== undefined && { path }),
    ...{ round, requests: stored.requests, askedAt, expiresAt },
    ...status,
    ...(type === held?.type && { pollAfter }),
  };
}
