import type { JsonRpcId, JsonRpcMessage, JsonRpcResponse } from "../wire/json-rpc.ts";
import {
  answerOrReason,
  type Endpoint,
  type OutgoingRequest,
  sendToEndpoint,
} from "../wire/server-endpoint.ts";
import type { RequestIds } from "../wire/request-ids.ts";
import { connectionBroke } from "./session-errors.ts";
import type { SessionEvent } from "./session-event.ts";
import type {
  LossPolicy,
  ServerMemory,
  RecoveryOptions,
  ResendPolicy,
  SessionFetchOptions,
} from "./session-fetch-options.ts";
import { headersForMessage, nameSession } from "./session-headers.ts";
import { compareAndClear, discardSnapshot, takeResumed } from "./session-life.ts";
import type { LiveSession, SlotState } from "./slot-state.ts";
import { abortable, timeLimited } from "../base/bounded-wait.ts";

/** The one context of all parts of a session fetch: its options with their defaults, and its state. */
export interface SessionContext
  extends
    Endpoint,
    Readonly<
      Omit<SessionFetchOptions, keyof Endpoint | "memory" | "now" | "recovery" | "toolList">
    > {
  readonly state: SlotState;
  /** Whether it keeps a session. Otherwise clients keep their own. */
  readonly session: "stateful" | "stateless";
  readonly ids: RequestIds;
  readonly questions: Questions;
  /** How many pages of a list came before a cursor, under method and cursor as JSON. */
  readonly pagesBefore: Map<string, number>;
  readonly memory: MemoryParts | undefined;
  readonly emit: (event: SessionEvent) => void;
  readonly now: () => number;
  readonly recovery: RecoveryOptions & {
    readonly onLoss: LossPolicy;
    readonly resend: ResendPolicy;
  };
  readonly toolList: NonNullable<SessionFetchOptions["toolList"]>;
  readonly initializeMs: number;
  readonly answerMs: number;
  readonly startMs: number;
  /** Another session fetch, on another slot and with other options, whose session is not saved. */
  readonly fork: (
    changes: Partial<SessionFetchOptions>,
    questions?: SessionContext["questions"],
  ) => Pipeline;
}

/** What all parts of a memory know. */
export interface MemoryContext extends Pick<
  SessionContext,
  "url" | "state" | "toolList" | "emit" | "now"
> {
  readonly pinMs: number | undefined;
}

/** A memory from the inside. */
export interface MemoryParts extends ServerMemory {
  readonly pinMs?: number | undefined;
  readonly session: SessionContext["session"];
  /** Answers requests beneath a session fetch. */
  readonly wrap: (
    fetch: typeof globalThis.fetch,
    context: Omit<MemoryContext, "pinMs">,
  ) => typeof globalThis.fetch;
  /** Answers the requests of clients that make their handshakes themselves. */
  readonly handshakes: (context: SessionContext) => Pipeline["answer"];
}

/** What a client gets: the message itself, of a server's answer to a request that takes messages. */
export type Answer = Response | JsonRpcResponse;

/** Sends a message of a client of ours, which reads no bytes. */
export type SendMessage = (
  message: JsonRpcMessage,
  request: Pick<OutgoingRequest, "signal" | "init" | "take"> & {
    readonly headers: RequestInit["headers"];
  },
) => Promise<Answer>;

/** A session fetch from the inside. */
export interface Pipeline {
  readonly fetch: typeof globalThis.fetch;
  readonly send: SendMessage;
  /** Answers a request to the connection's URL, with the JSON-RPC message in its body, if it is one. */
  readonly answer: (request: OutgoingRequest, message?: JsonRpcMessage) => Answer | Promise<Answer>;
  readonly context: SessionContext;
}

/** What servers asked the client: elicitation, sampling, roots. */
interface Questions {
  /** Those without an answer, under the client's id as JSON. */
  readonly open: Map<
    string,
    { readonly session: LiveSession; readonly id: JsonRpcId; readonly asksPerson?: boolean }
  >;
  /** When the client answered last, in milliseconds of `performance`. */
  answeredAt?: number;
  /** The first session that asked. Its ids stay, and all others are replaced. */
  first?: LiveSession;
}

/** Reports once for each slot that the session, or the handshake, of an earlier step is in use again. */
export function announceResumption({ state, session, emit }: SessionContext): void {
  const resumed = takeResumed(state);
  if (resumed === undefined) return;
  const { protocolVersion } = resumed.initializeResult;
  if (resumed.kind === "session") emit({ type: "resumed", protocolVersion });
  else if (session === "stateful") emit({ type: "sessionless", protocolVersion });
}

/** Whether what came at `since`, a tool list or a handshake, is still young enough to be used. */
export function isFresh({ now, toolList }: SessionContext, since: number): boolean {
  const { maxAgeMs = 3_600_000 } = toolList;
  const age = now() - since;
  return age >= 0 && age <= maxAgeMs;
}

/** Gives up the snapshot of an earlier step, because this step cannot use it. */
export function discard(
  { state, url, emit }: SessionContext,
  reason: "url" | "protocol-version",
): void {
  discardSnapshot(state, url);
  emit({ type: "discarded", reason });
}

/**
 * Gives up a session that the server does not know, or a handshake without a session that it refuses, unless
 * another has already taken its place.
 */
export function lose(
  { state, emit }: SessionContext,
  session: LiveSession,
  method: string,
  status: number,
): void {
  if (!compareAndClear(state, session)) return;
  const isLost = session.kind === "session";
  emit(isLost ? { type: "lost", method, status } : { type: "discarded", reason: "refused" });
}

/**
 * Sends a client's request, on a session or on none. The request's headers get the session's.
 *
 * @param method what failed, for an error: the JSON-RPC method, if there is one
 */
export function sendOn(
  context: SessionContext,
  session: LiveSession | undefined,
  request: OutgoingRequest,
  method?: string,
): Promise<Response> {
  nameSession(request.headers, session);
  return send(context, request, method);
}

/** The parts of a client's request that the fetch uses for a message of its own. */
export type OwnRequest = Pick<OutgoingRequest, "headers" | "init" | "signal">;
export type BoundedRequest = OwnRequest & { readonly signal: AbortSignal };

/** Sends a message of the fetch itself, on a session or, for `initialize`, on no session. */
export function sendOwn(
  context: SessionContext,
  session: LiveSession | undefined,
  message: { readonly method: string; readonly id?: JsonRpcId; readonly params?: object },
  { headers, init, signal }: BoundedRequest,
): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  const own = { method: "POST", headers: headersForMessage(headers, session), body, signal, init };
  return send(context, own, message.method);
}

/** @throws {McpSessionError} if the connection could not be made, or broke */
async function send(
  context: SessionContext,
  request: OutgoingRequest,
  method = request.method,
): Promise<Response> {
  try {
    return await sendToEndpoint(context, request);
  } catch (cause) {
    throw request.signal?.aborted ? cause : connectionBroke({ method, url: context.url, cause });
  }
}

const timeoutMs = 5_000;

/**
 * Pings the server on a session.
 *
 * @returns what `read` makes of the answer; `undefined` without an answer within 5 seconds
 */
export async function pingOn<T>(
  context: SessionContext,
  session: LiveSession,
  request: OwnRequest,
  read: (response: Response, id: string) => T | Promise<T>,
): Promise<T | undefined> {
  const ping = { method: "ping", id: context.ids.next() };
  const asking = timeLimited(timeoutMs, request.signal, async (signal) => {
    const sending = sendOwn(context, session, ping, { ...request, signal });
    const reading = read(await answerOrReason(sending, signal), ping.id);
    return await abortable(Promise.resolve(reading), signal);
  });
  return await asking.catch(() => undefined);
}
