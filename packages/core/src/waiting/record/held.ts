import {
  anyNumber,
  anyOf,
  anyText,
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

export const anyHeld = anyOf(task, stream);
export type HeldTask = Shaped<typeof task>;
export type HeldStream = Shaped<typeof stream>;
/** What the server keeps of a call, so that any process goes on with it. */
export type Held = HeldTask | HeldStream;
