import { isRecord } from "../base/json-values.ts";
import { randomToken } from "../base/random-token.ts";
import type { McpSessionError } from "../base/mcp-session-error.ts";
import type { JsonRpcId } from "../wire/json-rpc.ts";
import type { SlotState } from "./session-life.ts";
import { type SessionSlot, slotState } from "./session-slot.ts";

/** A step has fewer open failures than this. The oldest one is dropped. */
const maxKept = 1_000;
/** Connection closed: an implementation-defined JSON-RPC code of the official SDKs. */
const connectionClosed = -32000;

/** Keeps a failure, and prints it as the answer to the client's request, with a receipt. */
export function deliverFailure(
  { failures }: SlotState,
  id: JsonRpcId,
  failure: McpSessionError,
): string {
  const receipt = randomToken();
  if (failures.size >= maxKept) failures.delete(failures.keys().next().value ?? "");
  failures.set(receipt, failure);
  const { code, message, data } = failure;
  const error = { code: connectionClosed, message, data: { ...data, code, receipt } };
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

/**
 * The `McpSessionError` behind a client's error. A failure after the response headers reaches a client as
 * a JSON-RPC error whose `data` carries a receipt. A server cannot invent a receipt.
 *
 * @returns `undefined` if no session fetch on this slot delivered the error
 */
export function sessionFailure(slot: SessionSlot, error: unknown): McpSessionError | undefined {
  const data = (error as { data?: unknown } | null | undefined)?.data;
  const receipt = isRecord(data) ? data["receipt"] : undefined;
  return typeof receipt === "string" ? slotState(slot).failures.get(receipt) : undefined;
}
