import * as z from "zod/mini";
import { isMessage } from "../base/json-rpc.ts";
import type { JSONRPCMessage } from "../base/mcp-types.ts";

const message = z.custom<JSONRPCMessage>(isMessage);
const events = z.array(z.object({ place: z.number(), message }));

const schema = z.object({
  version: z.literal(1),
  /** Messages of an answer stream, in their order. */
  events,
  /** Another process has declared the call lost, because its own was dead. */
  isTombstone: z.optional(z.literal(true)),
  /** Then the last place up to which its client has all, or gets it from the store. */
  last: z.optional(z.number()),
});

/** A message of an answer stream, and its place in it, from 1. */
export interface StreamEvent {
  readonly place: number;
  readonly message: JSONRPCMessage;
}

/**
 * A part of an answer stream, as it is stored: messages that preceded the answer, or the answer with
 * those before it that were not stored yet.
 */
export interface CallRecord {
  readonly version: 1;
  readonly events: readonly StreamEvent[];
  readonly isTombstone?: true;
  readonly last?: number;
}

/** `undefined` for a value of another version of this package, or of another program. */
export function parseCallRecord(value: unknown): CallRecord | undefined {
  const parsed = z.safeParse(schema, value);
  return parsed.success ? (value as CallRecord) : undefined;
}
