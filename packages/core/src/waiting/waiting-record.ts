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

const fields = {
  version: z.literal(1),
  kind: z.enum(Object.keys(waitingKinds) as WaitingKind[]),
  id: z.string(),
  state: z.enum(["waiting", "answering", "settled", "expired", "outcome-unknown", "withdrawn"]),
  connection: z.string(),
  url: z.url(),
  toolCallId: z.optional(z.string()),
  /** Of the method, the tool, and the input as the caller gave it. */
  digest: z.string(),
  /** The request of a call, as each of its legs repeats it. */
  request: z.strictObject({
    method: z.enum(askingMethods),
    /** Without the fields of one leg: answers, `requestState`, progress token and trace context. */
    params: record,
    /** The headers that describe the request: `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`. */
    headers: z.record(z.string(), z.string()),
  }),
  round: z.int(),
  /** Names the next leg among all legs of all calls. */
  leg: z.string(),
  requests: z.custom<Requests>(areRequests),
  requestState: z.optional(z.string()),
  askedAt: z.number(),
  expiresAt: z.number(),
  /** Where a graph has shown the questions of a round: at which of the interrupts of its task. */
  shown: z.optional(z.array(shownRound)),
  /** The process that sends answers, or was the last to do so in this round. */
  claim: z.optional(z.strictObject({ token: z.string(), at: z.number() })),
  answer: z.optional(answer),
  /** Whether it is the call of a stand-in for a connection's tools, which is never sent. */
  isStandIn: yes,
  /** Of the tool, when the call began to wait for a sign-in. */
  annotations: z.optional(record),
  /** Whether a conversation has got the result. */
  isDelivered: yes,
  /** Of the first of several calls that are alike: the number of the first that may not be delivered. */
  nextTurn: z.optional(z.int().check(z.minimum(1))),
};

/** A waiting call in a store. `requestState` is as secret as a session id. */
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
  const { id, kind, state, connection, url, toolCallId, request, round, askedAt, expiresAt } =
    stored;
  const { method, params } = request;
  return {
    ...{ id, kind, state, connection, server: new URL(url).origin, method },
    tool: String(params[method === "resources/read" ? "uri" : "name"]),
    ...(toolCallId !== undefined && { toolCallId }),
    ...{ round, requests: withoutPrototype(stored.requests), askedAt, expiresAt },
  };
}

/** Keys from servers: `__proto__` is a key as any other. */
export function withoutPrototype<T>(map: Readonly<Record<string, T>>): Record<string, T> {
  const own: Record<string, T> = Object.create(null);
  for (const [key, value] of Object.entries(map)) own[key] = value;
  return own;
}
