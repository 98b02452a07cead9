import { wait } from "@durable-mcp/core/internal";
import { outcomeUnknown } from "../base/json-rpc.ts";
import type { AnswerStream } from "../streams/answer-stream.ts";
import type { CallName } from "../streams/event-id.ts";
import { followCall } from "../streams/resume-call.ts";
import type { LiveContext } from "../context/handler-context.ts";

/**
 * The rest of the stream of a call that has asked its client: what follows is stored by whichever
 * replica gets the answers. Ends with the call, its client, or this live session; a client that is
 * still there comes back then. Never rejects.
 */
export async function followAnswers(
  context: LiveContext,
  stream: AnswerStream,
  { call, place: first }: { readonly call: CallName; readonly place: number },
): Promise<void> {
  const { stored, closed, sessions, settings } = context;
  const signal = AbortSignal.any([closed, stream.ended()]);
  const { hash } = stored;
  const { owner } = stored.record;
  let place = first;
  for (let isOver = false; !isOver && !signal.aborted;) {
    try {
      for await (const event of followCall(context, { hash, owner, call, place }, signal)) {
        ({ place } = event);
        stream.write(place, JSON.stringify(event.message), false);
      }
      isOver = true;
    } catch {
      // The store has emitted its failure. Some clients could not come back: so the stream stays.
      await wait(settings.timeouts.pollIntervalMs);
    }
  }
  // A client cannot come back to a session that has ended.
  const isEnded = closed.aborted && !(await sessions.isStored(hash).catch(() => true));
  if (isEnded)
    for (const id of call.requestIds)
      stream.write(undefined, JSON.stringify(outcomeUnknown(id)), false);
  stream.end();
}
