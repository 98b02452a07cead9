import {
  anyNumber,
  anyOf,
  anyText,
  anyWhole,
  exactly,
  listOf,
  recordOf,
  type Shaped,
} from "../../base/shape.ts";

const task = recordOf({
  type: exactly("task"),
  taskId: anyText,
  status: anyText,
  /** The server's text. */
  "statusMessage?": anyText,
  /** The server is asked again after this time, in milliseconds. */
  intervalMs: anyNumber,
  /** When the server may forget the task. */
  "endsAt?": anyNumber,
  /** The keys of questions that have an answer. */
  "answered?": listOf(anyText),
  /** Of the stream on which a session's task asks: its last event. */
  "eventId?": anyText,
});
const stream = recordOf({
  type: exactly("stream"),
  /** The request that the stream answers. */
  requestId: anyOf(anyText, anyNumber),
  /** The last event that was read. */
  eventId: anyText,
});

const watch = recordOf({
  type: exactly("watch"),
  /** Names this beginning of the watch: what an earlier one has found is no news. */
  since: anyText,
  intervalMs: anyNumber,
  /** Counts what has been found. */
  place: anyWhole,
  /** The digest of what was found last. */
  "position?": anyText,
  /** How many entries no step had taken at the last look. */
  "news?": anyWhole,
});

export const anyHeld = anyOf(task, stream, watch);
export type HeldTask = Shaped<typeof task>;
export type HeldStream = Shaped<typeof stream>;
export type HeldWatch = Shaped<typeof watch>;
/** What the server keeps of a call, so that any process goes on with it; or how far a watch has got. */
export type Held = HeldTask | HeldStream | HeldWatch;
