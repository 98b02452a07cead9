import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { fingerprint } from "../base/session-id.ts";
import type { StoreContext } from "../records/store-context.ts";
import { type EventPosition, lastPlace } from "./event-id.ts";
import type { StreamPart } from "./event-stream-answer.ts";
import type { RequestLog, RequestOwner } from "./request-log.ts";
import { closeAsUnknown, outcomeUnknown } from "./request-record.ts";

/** Whether the client at `position` has every message that the stream will ever have. */
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
 * The rest of a request's answer stream, from the store, wherever the request runs. It ends with the
 * last answer; when the process that had the request is gone, that answer is an error.
 */
export async function* resumeRequest(
  context: StoreContext & { readonly log: RequestLog },
  { stored: session, eventIds }: Pick<RequestOwner, "stored" | "eventIds">,
  position: EventPosition,
  signal: AbortSignal,
): AsyncGenerator<StreamPart> {
  const { log, waker, emit, settings } = context;
  const reportUnknown = () => emit({ type: "outcome-unknown", session: fingerprint(session.hash) });
  const eventId = eventIds.of(position);
  let { place } = position;
  // If this stream breaks too, its client knows its place only from the ids in this stream.
  yield { type: "prime", eventId: eventId(place) };
  while (!signal.aborted) {
    const { key, stored } = await log.find(session.hash, position.stream);
    if (!stored) {
      reportUnknown();
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
      await waker.wait(key, settings.timeouts.pollIntervalMs, signal);
      continue;
    }
    const closed = closeAsUnknown(record, settings.events);
    // Whether this write or a faster one succeeded, the next round reads the stored record.
    if (await log.replace(key, closed, revision, session.record.owner)) reportUnknown();
  }
}
