import {
  createEventSplitter,
  eventText,
  isEventStream,
  isRecord,
} from "@durable-mcp/core/internal";
import type { ProgressTracker } from "../connection/call-progress.ts";

type Fetch = typeof globalThis.fetch;

/**
 * The fetch of a client whose calls are followed. It puts the progress tokens into the calls.
 *
 * @param reads whether the answer's stream is read for progress here; a session fetch tells of it in events
 */
export function withFollowedCalls(
  fetch: Fetch,
  tracker: ProgressTracker,
  reads: (isFollowed: boolean) => boolean,
): Fetch {
  return async (input, init) => {
    const body = init?.body;
    const isFollowed = typeof body === "string" && tracker.mayBeMarked(body);
    const response = isFollowed
      ? await fetch(input, {
          ...init,
          body: JSON.stringify(tracker.send(JSON.parse(body) as object)),
        })
      : await fetch(input, init);
    return reads(isFollowed) ? watchEvents(response, tracker) : response;
  };
}

/** A notification is shorter, in bytes. */
const maxLength = 16_384;

function watchEvents(response: Response, tracker: ProgressTracker): Response {
  if (!isEventStream(response)) return response;
  const { status, statusText, headers, body } = response;
  const splitter = createEventSplitter();
  const watched = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      for (const event of splitter.push(chunk)) {
        const length = event.parts.reduce((sum, part) => sum + part.length, 0);
        if (length <= maxLength) receiveText(eventText(event), tracker);
      }
      controller.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(watched), { status, statusText, headers });
}

function receiveText(text: string, tracker: ProgressTracker): void {
  try {
    const message: unknown = JSON.parse(text);
    if (isRecord(message)) tracker.receive(String(message["method"]), message["params"]);
  } catch {
    // What is no JSON is the client's to report.
  }
}
