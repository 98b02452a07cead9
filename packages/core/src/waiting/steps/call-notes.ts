/** What is known of a call beside its request, and what is kept of both. */

import { McpSessionError } from "../../base/mcp-session-error.ts";
import type { JsonRpcRequest } from "../../wire/json-rpc.ts";
import type { CallIdentity } from "../claims/current-call.ts";
import type { AskingMethod, WaitingCall } from "../record/waiting-call.ts";
import type { OpenCall, WaitingRecord } from "../record/waiting-record.ts";
import type { StoredCall } from "../record/waiting-store.ts";

/** What the caller of a client knows of a call, and the client does not. */
export interface CallNotes {
  readonly toolCallId?: string | undefined;
  /** The tool calls of agents around it, the root's first. @default none */
  readonly path?: WaitingRecord["path"] | undefined;
  /** What else tells the call apart, such as the task of a graph that runs again. */
  readonly scope?: string | undefined;
  /** Where the call stands in its history, which tells it apart where a record is written before it is sent. */
  readonly place?: number | undefined;
  /** The input as the model gave it. @default the arguments of the request */
  readonly input?: unknown;
  /** After what time its caller gives it up, in milliseconds. @default never */
  readonly limitMs?: number | undefined;
  /**
   * Aborts when a person stops the call. Whatever else ends it leaves it to its server, if that keeps it, and so does
   * `STATE_CONFLICT` as the reason: another process goes on with it.
   */
  readonly stop?: AbortSignal | undefined;
  /** The record of a call that waited for a sign-in, and is now sent: it is not looked up, and gets the questions. */
  readonly claimed?: StoredCall<OpenCall> | undefined;
  /** Gets the record of a call that was asked something, now or earlier, before the client gets its answer. */
  readonly onCall?: ((call: WaitingRecord) => void) | undefined;
  /** Gets the call whose placeholder the client gets. What the client makes of it may be the server's. */
  readonly onWaiting?: ((call: WaitingCall) => void) | undefined;
  /** Gets the error of a call whose client only gets its words. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

/** Whether somebody has stopped a call. A process that has lost its work to another one leaves it to that one. */
export function isStopped({ stop }: CallNotes): boolean {
  const reason: unknown = stop?.reason;
  const isLeft = McpSessionError.isInstance(reason) && reason.code === "STATE_CONFLICT";
  return stop?.aborted === true && !isLeft;
}

/** The members of `_meta` that are for one request. */
const ofOneRequest = new Set(["progressToken", "traceparent", "tracestate", "baggage"]);
/** The headers that describe the request to what stands before the server, and name its session. */
const describing = /^(?:mcp-protocol-version|mcp-session-id|mcp-method|mcp-name|mcp-param-.*)$/;

/** The request of a call, as each of its legs repeats it. */
export function repeatable({ method, params = {} }: JsonRpcRequest, headers: Headers) {
  const { _meta: given, ...own } = params;
  const meta = Object.entries(given ?? {}).filter(([key]) => !ofOneRequest.has(key));
  return {
    method: method as AskingMethod,
    params: { ...own, ...(given !== undefined && { _meta: Object.fromEntries(meta) as object }) },
    headers: Object.fromEntries([...headers].filter(([name]) => describing.test(name))),
  };
}

export function identityOf(
  connection: string,
  { method, params = {} }: JsonRpcRequest,
  { toolCallId, path, place, ...notes }: CallNotes,
  isFirst: boolean,
): CallIdentity & { readonly tool: string } {
  const { input = params["arguments"] ?? {} } = notes;
  const tool = String(params[method === "resources/read" ? "uri" : "name"]);
  const isPlaced = isFirst && notes.scope === undefined && place !== undefined;
  const scope = isPlaced ? `at ${place}` : notes.scope;
  return { connection, method, tool, input, toolCallId, path, scope };
}
