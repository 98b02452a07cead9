import { type JsonRpcId, within } from "@durable-mcp/core/internal";
import { failureText, noAnswer } from "../base/answers.ts";
import type { EventPlace } from "../base/event-ids.ts";
import { eventAnswer, messageEvent, streamOf, utf8 } from "../base/events.ts";
import { type ServerEvent, textAfter } from "./call-stream.ts";
import type { ClientSession } from "./client-session.ts";
import { findLeftAnswer } from "./left-answers.ts";
import type { Centre } from "./upstreams.ts";

/** A resumed stream that is silent for this long is asked for again, in milliseconds, and then for twice as long. */
const askAgainMs = 4_000;

/**
 * The rest of an answer, for a client that comes back: from this process, from the server, or from the process that
 * holds the call. Without any of them the answer is that nobody knows.
 *
 * @param lastEventId as the client gave it
 */
export function resumeCall(
  centre: Centre,
  session: ClientSession,
  place: EventPlace & { readonly requestId: JsonRpcId },
  lastEventId: string,
): Response {
  const { requestId, kind } = place;
  const known = session.requestOf(requestId);
  const own = known?.call?.resume(lastEventId);
  if (own !== undefined) return eventAnswer(own);
  const note = known ?? session.noteRequest(requestId, kind);
  const { call, last } = note;
  const over = new AbortController();
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  const fromServer = async ({ eventId, era }: ServerEvent) => {
    if (eventId === "" || era !== session.era) return undefined;
    note.last = { eventId, era };
    return await session.upstream.resume(session.events.seal({ ...place, era, eventId }));
  };
  async function* rest(): AsyncGenerator<Uint8Array> {
    // Some clients only come back again to a stream that has begun with an id.
    yield* session.takesPriming ? session.priming(lastEventId) : [utf8(": \n\n")];
    let stream = await fromServer(place);
    if (stream === undefined) {
      const left =
        call?.isLeft && last
          ? { stream: call.textSoFar() ?? "", next: last }
          : await findLeftAnswer(centre, session, requestId, over.signal);
      if (over.signal.aborted) return;
      if (left) yield utf8(textAfter(left.stream, lastEventId) ?? left.stream);
      if (left && !left.next) return;
      stream = left?.next && (await fromServer(left.next));
    }
    if (stream === undefined) {
      yield messageEvent(noAnswer(requestId, kind === "call", failureText(undefined)));
      return;
    }
    for (let silentMs = askAgainMs; stream && !over.signal.aborted; silentMs *= 2) {
      reader = stream.getReader();
      let reading = reader.read();
      // What the server has meanwhile, it only gives to who asks again, as some do.
      while (await within(Math.min(silentMs, 60_000), reading)) {
        const { value } = await reading;
        if (value === undefined) return;
        silentMs = askAgainMs;
        yield value;
        reading = reader.read();
      }
      void reader.cancel().catch(() => undefined);
      stream = note.last && (await fromServer(note.last));
    }
  }
  const onOver = () => {
    over.abort("left");
    if (!call) session.forgetRequest(requestId, note);
    void reader?.cancel().catch(() => undefined);
  };
  return eventAnswer(streamOf(rest(), onOver));
}
