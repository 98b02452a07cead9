import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { type EventPosition, lastPlace } from "./event-id.ts";
import type { StreamPart } from "./event-stream-answer.ts";
import type { RequestLog, RequestOwner } from "./request-log.ts";
import { closeAsUnknown, outcomeUnknown, type StreamBounds } from "./request-record.ts";
import type { Waker } from "./waker.ts";

export interface ResumeRequestOptions {
  readonly log: RequestLog;
  readonly waker: Waker;
  readonly bounds: StreamBounds;
  readonly pollIntervalMs: number;
  readonly session: Pick<RequestOwner, "eventIds" | "hash" | "owner">;
  readonly position: EventPosition;
  readonly onUnknown: () => void;
}

/** Whether the client at `position` has all that there will be of the stream. */
export async function isFinished(
  log: RequestLog,
  hash: string,
  position: EventPosition,
): Promise<boolean> {
  const { stored } = await log.find(hash, position.stream);
  if (!stored) return position.place === lastPlace;
  const { record } = stored;
  // With another nonce the client has used the request id again since: it got its answer.
  if (record.nonce !== position.nonce) return true;
  return record.open.length === 0 && record.events.every(({ place }) => place <= position.place);
}

/**
 * The rest of a request's answer stream, from the store, wherever the request runs: until its last
 * answer, which is an error when the process that had it is gone.
 */
export async function* resumeRequest(
  options: ResumeRequestOptions,
  signal: AbortSignal,
): AsyncGenerator<StreamPart> {
  const { log, waker, bounds, pollIntervalMs, session, position, onUnknown } = options;
  const eventId = session.eventIds.of(position);
  let { place } = position;
  // A client that loses this stream too knows where it was only by what this stream said.
  yield { type: "prime", eventId: eventId(place) };
  while (!signal.aborted) {
    const { key, stored } = await log.find(session.hash, position.stream);
    if (!stored) {
      onUnknown();
      const message = outcomeUnknown(JSON.parse(position.stream) as string | number);
      yield { type: "message", eventId: eventId(lastPlace), message };
      return;
    }
    const { record, revision } = stored;
    if (record.nonce !== position.nonce) return;
    for (const event of record.events.filter((kept) => kept.place > place)) {
      ({ place } = event);
      const message = event.message as JSONRPCMessage;
      yield { type: "message", eventId: eventId(place), message };
    }
    if (record.open.length === 0) return;
    if (await log.isServed(record)) {
      await waker.wait(key, pollIntervalMs, signal);
      continue;
    }
    const closed = closeAsUnknown(record, bounds);
    // Whether it was placed or somebody was faster: the next round reads what is stored.
    if (await log.replace(key, closed, revision, session.owner)) onUnknown();
  }
}
