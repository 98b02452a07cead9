import type { JsonValue, StoreBatchWrite } from "@durable-mcp/core";
import * as z from "zod/mini";
import { isMessage } from "../base/json-rpc.ts";
import type { JSONRPCMessage } from "../base/mcp-types.ts";
import type { StoreContext } from "../records/store-context.ts";
import { storeKey } from "../records/store-key.ts";

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

/** What names and keeps the records of calls. */
export type CallContext = Pick<StoreContext, "store" | "settings">;

/** The key of a call's answer, which one process alone can write. */
export function answerKey({ settings }: CallContext, hash: string, call: string): string {
  return storeKey(settings.name, "answer", hash, call);
}

/** A put that only succeeds where nothing is stored yet. */
export function newCallRow(
  { settings }: CallContext,
  key: string,
  record: CallRecord,
  owner: string,
  expiresAt = settings.now() + settings.timeouts.resumeMs,
): StoreBatchWrite {
  const value = record as unknown as JsonValue;
  return { type: "put", key, value, ifRevision: null, owner, expiresAt };
}

/** The key of a part of a call's stream that precedes its answer. */
export function partKey(
  { settings }: CallContext,
  hash: string,
  call: string,
  part: number,
): string {
  return storeKey(settings.name, "messages", hash, call, part.toString(36).padStart(6, "0"));
}
