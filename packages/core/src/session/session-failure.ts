import { isRecord } from "../base/json-values.ts";
import { randomToken } from "../base/random-token.ts";
import type { McpSessionError } from "../base/mcp-session-error.ts";
import type { SlotState } from "./session-life.ts";
import { type SessionSlot, slotState } from "./session-slot.ts";

/** More failures than a step can have open; the oldest is let go. */
const maxKept = 1_000;

/** Keeps a failure that is delivered as a JSON-RPC error, and gives the receipt to put into it. */
export function keepFailure({ failures }: SlotState, error: McpSessionError): string {
  const receipt = randomToken();
  if (failures.size >= maxKept) failures.delete(failures.keys().next().value ?? "");
  failures.set(receipt, error);
  return receipt;
}

/**
 * The `McpSessionError` behind a client's error: a failure after the response headers reaches a
 * client as a JSON-RPC error whose `data` carries a receipt. A server cannot make one up.
 *
 * @returns `undefined` when the error is not one that a session fetch on this slot delivered
 */
export function sessionFailure(slot: SessionSlot, error: unknown): McpSessionError | undefined {
  const data = (error as { data?: unknown } | null | undefined)?.data;
  const receipt = isRecord(data) ? data["receipt"] : undefined;
  return typeof receipt === "string" ? slotState(slot).failures.get(receipt) : undefined;
}
