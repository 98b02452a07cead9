import * as z from "zod/mini";
import { isPrintable, isRecord } from "../base/json-values.ts";
import type { InputRequest } from "./input-request.ts";
import {
  type AskingMethod,
  type WaitingCall,
  type WaitingKind,
  waitingKinds,
  type WaitingState,
} from "./waiting-call.ts";

/** A JSON-RPC error of the server. */
export interface WaitingError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** What became of a settled call: the server's result, or its error. */
export type WaitingAnswer =
  | { readonly result: Readonly<Record<string, unknown>>; readonly error?: undefined }
  | { readonly error: WaitingError; readonly result?: undefined };

/** The request of a call, as each of its legs repeats it. */
interface WaitingRequest {
  readonly method: AskingMethod;
  /** Without the fields of one leg: answers, `requestState`, progress token and trace context. */
  readonly params: Readonly<Record<string, unknown>>;
  /** The headers that describe the request: `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The questions of a round, in one of the interrupts of a graph's task. */
export interface ShownRound {
  readonly round: number;
  /** Counts the interrupts of the task, from 0. */
  readonly place: number;
  /** Names the checkpoint from which the graph goes on. */
  readonly checkpoint?: string | undefined;
  /** Whether they are shown again because nobody knows for which questions the answer before was. */
  readonly isUnclear?: true | undefined;
}

/** A waiting call in a store. `requestState` is as secret as a session id. */
export interface WaitingRecord {
  readonly version: 1;
  readonly kind: WaitingKind;
  readonly id: string;
  readonly state: WaitingState;
  readonly connection: string;
  readonly url: string;
  readonly toolCallId?: string | undefined;
  /** Of the method, the tool, and the input as the caller gave it. */
  readonly digest: string;
  readonly request: WaitingRequest;
  readonly round: number;
  /** Names the next leg among all legs of all calls. */
  readonly leg: string;
  readonly requests: Readonly<Record<string, InputRequest>>;
  readonly requestState?: string | undefined;
  readonly askedAt: number;
  readonly expiresAt: number;
  /** Where a graph has shown the questions of a round: at which of the interrupts of its task. */
  readonly shown?: readonly ShownRound[] | undefined;
  /** The process that sends answers, or was the last to do so in this round. */
  readonly claim?: { readonly token: string; readonly at: number } | undefined;
  readonly answer?: WaitingAnswer | undefined;
  /** Whether it is the call of a stand-in for a connection's tools, which is never sent. */
  readonly isStandIn?: true | undefined;
  /** Of the tool, when the call began to wait for a sign-in. */
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
  /** Whether a conversation has got the result. */
  readonly isDelivered?: true | undefined;
  /** Of the first of several calls that are alike: the number of the first that may not be delivered. */
  readonly nextTurn?: number | undefined;
}

type Requests = Readonly<Record<string, InputRequest>>;

/** Taken as they are: a schema would leave out a key `__proto__`. */
export function areRequests(value: unknown): value is Requests {
  return (
    isRecord(value) &&
    Object.values(value).every((one) => isRecord(one) && typeof one["method"] === "string")
  );
}

const record = z.custom<Record<string, unknown>>(isRecord);
/** A record keeps fields that only later releases know. */
const recordSchema = z.looseObject({
  version: z.literal(1),
  kind: z.enum(Object.keys(waitingKinds) as WaitingKind[]),
  id: z.string(),
  state: z.enum(["waiting", "answering", "settled", "expired", "outcome-unknown", "withdrawn"]),
  connection: z.string(),
  url: z.url(),
  toolCallId: z.optional(z.string()),
  digest: z.string(),
  request: z.strictObject({
    method: z.enum(["tools/call", "resources/read", "prompts/get"]),
    params: record,
    headers: z.record(z.string(), z.string()),
  }),
  round: z.int(),
  leg: z.string(),
  requests: z.custom<Requests>(areRequests),
  requestState: z.optional(z.string()),
  askedAt: z.number(),
  expiresAt: z.number(),
  shown: z.optional(
    z.array(
      z.strictObject({
        round: z.int(),
        place: z.int(),
        checkpoint: z.optional(z.string()),
        isUnclear: z.optional(z.literal(true)),
      }),
    ),
  ),
  claim: z.optional(z.strictObject({ token: z.string(), at: z.number() })),
  answer: z.optional(
    z.union([
      z.strictObject({ result: record }),
      z.strictObject({
        error: z.looseObject({ code: z.number(), message: z.string() }),
      }),
    ]),
  ),
  isStandIn: z.optional(z.literal(true)),
  annotations: z.optional(record),
  isDelivered: z.optional(z.literal(true)),
  nextTurn: z.optional(z.int().check(z.minimum(1))),
});

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
