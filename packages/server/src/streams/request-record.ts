import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { McpSessionError } from "@durable-mcp/core";
import * as z from "zod/mini";
import type { HandlerSettings } from "../base/settings.ts";

const id = z.union([z.string(), z.number()]);
const message = z.looseObject({ jsonrpc: z.literal("2.0") });

const schema = z.object({
  version: z.literal(1),
  nonce: z.string(),
  /** The process that has the request, and the live session in it. */
  replica: z.string(),
  instance: z.string(),
  /** All requests of the POST; more than one in a batch of revision 2025-03-26. */
  ids: z.array(id),
  /** Those of them without an answer. */
  open: z.array(id),
  /** The newest messages of the answer stream. */
  events: z.array(z.object({ place: z.number(), message })),
  /** The place of the last message, kept or not. */
  last: z.number(),
});

/** One request as it is stored, with the messages of its answer stream so far. */
export type RequestRecord = z.infer<typeof schema>;

/** How much of one stream is kept. */
export type StreamBounds = Pick<HandlerSettings["events"], "maxEvents" | "maxLength">;

export function parseRequestRecord(value: unknown): RequestRecord | undefined {
  const parsed = z.safeParse(schema, value);
  return parsed.success ? (value as RequestRecord) : undefined;
}

/** A request id in keys: its JSON, so that 1 and "1" are two. */
export function requestKeyPart(requestId: RequestId): string {
  return JSON.stringify(requestId);
}

/** `record` with one more message. An answer closes its request. */
export function appendMessage(
  record: RequestRecord,
  added: JSONRPCMessage,
  bounds: StreamBounds,
): RequestRecord {
  const last = record.last + 1;
  const answered = answeredId(added);
  const events = [...record.events, { place: last, message: added }];
  return {
    ...record,
    last,
    open: record.open.filter((open) => open !== answered),
    events: withinBounds(events, bounds),
  };
}

/** `record` after the death of its process: an error for each request without an answer. */
export function closeAsUnknown(record: RequestRecord, bounds: StreamBounds): RequestRecord {
  return record.open.reduce<RequestRecord>(
    (closed, open) => appendMessage(closed, outcomeUnknown(open), bounds),
    record,
  );
}

/** The answer to a request whose own answer was lost with a process, or is no longer kept. */
export function outcomeUnknown(requestId: RequestId): JSONRPCMessage {
  const code: McpSessionError["code"] = "OUTCOME_UNKNOWN";
  return {
    jsonrpc: "2.0",
    id: requestId,
    error: {
      code: -32603,
      message:
        "The answer to this request was lost on the server. Whether the request was carried out is unknown; check before you send it again.",
      data: { code },
    },
  };
}

type Event = RequestRecord["events"][number];

/** Without the oldest messages, answers last of all; an answer too long to keep becomes an error. */
function withinBounds(events: Event[], { maxEvents, maxLength }: StreamBounds): Event[] {
  const lengths = events.map((event) => JSON.stringify(event.message).length);
  const kept = new Set<number>();
  let total = 0;
  const answersFirst = events
    .map((_, index) => index)
    .toReversed()
    .toSorted((a, b) => Number(isAnswer(events[b]!)) - Number(isAnswer(events[a]!)));
  for (const index of answersFirst) {
    if (kept.size >= maxEvents || total + lengths[index]! > maxLength) continue;
    total += lengths[index]!;
    kept.add(index);
  }
  return events.flatMap((event, index) => {
    if (kept.has(index)) return [event];
    const answered = answeredId(event.message as JSONRPCMessage);
    if (answered === undefined) return [];
    return [{ place: event.place, message: outcomeUnknown(answered) }];
  });
}

function isAnswer(event: Event): boolean {
  return answeredId(event.message as JSONRPCMessage) !== undefined;
}

/** The message that answers a request. */
export type Answer = Extract<JSONRPCMessage, { result: unknown } | { error: unknown }>;

/** The id of the request to which a message is the answer. */
export function answeredId(answer: JSONRPCMessage): RequestId | undefined {
  const isResponse = "result" in answer || "error" in answer;
  return isResponse && "id" in answer ? answer.id : undefined;
}
