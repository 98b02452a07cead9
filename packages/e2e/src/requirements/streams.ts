import { inSpec, type Requirement } from "./requirement.ts";

/** GET, several streams, and streams that are resumed. */
export const streamRequirements: readonly Requirement[] = [
  {
    id: "S38",
    role: "client",
    level: "MAY",
    spec: inSpec("basic/transports#listening-for-messages-from-the-server"),
    statement: "Open a stream of server messages with GET.",
    tests: {
      "core/src/answer/inbound-stream.test.ts": [
        "answers a GET 405 locally",
        "with listen > opens the stream and hands on what comes, at once",
      ],
    },
  },
  {
    id: "S39",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/transports#listening-for-messages-from-the-server"),
    statement: "A GET accepts `text/event-stream`.",
    tests: {
      "core/src/answer/resume-stream.test.ts": ["continues a stream that ended without its answer"],
      "core/src/client-duties.test.ts": ["names id and version on every request"],
    },
    note: "The header of a client's own GET is the client's own affair: it goes out as it is.",
  },
  {
    id: "S40",
    role: "server",
    level: "MUST",
    spec: inSpec("basic/transports#listening-for-messages-from-the-server"),
    statement: "Answer a GET with an event stream or 405.",
    tests: {
      "core/src/answer/inbound-stream.test.ts": ["answers 405 where the server answers 405"],
    },
  },
  {
    id: "S41",
    role: "server",
    level: "MUST NOT",
    spec: inSpec("basic/transports#listening-for-messages-from-the-server"),
    statement: "Send a response on a GET stream, unless it resumes a request's.",
    tests: {
      "core/src/answer/inbound-stream.test.ts": ["brings the answer to a request that waits"],
      "core/src/answer/hostile-answers.test.ts": ["on the stream of server messages"],
    },
    note: "A client's side of it: a response that comes there all the same.",
  },
  {
    id: "S42",
    role: "both",
    level: "MAY",
    spec: inSpec("basic/transports#listening-for-messages-from-the-server"),
    statement: "Close the GET stream at any time.",
    tests: { "core/src/answer/inbound-stream.test.ts": ["opens the stream again after its %s"] },
  },
  {
    id: "S43",
    role: "server",
    level: "SHOULD",
    spec: inSpec("basic/transports#listening-for-messages-from-the-server", ["2025-11-25"]),
    statement: "A GET stream that is closed early is polled like that of a POST.",
    tests: { "core/src/answer/inbound-stream.test.ts": ["opens the stream again after its %s"] },
  },
  {
    id: "S44",
    role: "client",
    level: "MAY",
    spec: inSpec("basic/transports#multiple-connections"),
    statement: "Several streams at once.",
    tests: {
      "core/src/exchange/exchange.test.ts": [
        "are told apart when two clients of one fetch use the same id",
      ],
      "e2e/src/sessions/two-processes-at-once.test.ts": [
        "overlapping calls each get their own answers",
      ],
    },
  },
  {
    id: "S45",
    role: "server",
    level: "MUST",
    spec: inSpec("basic/transports#multiple-connections"),
    statement: "Each message goes to one stream only.",
    tests: {
      "core/src/answer/hostile-answers.test.ts": ["an answer on another request's stream"],
      "e2e/src/sessions/two-processes-at-once.test.ts": [
        "overlapping calls each get their own answers",
      ],
    },
    note: "A client's side of it: an answer on a stream that is not its own reaches nobody.",
  },
  {
    id: "S46",
    role: "server",
    level: "MAY",
    spec: inSpec("basic/transports#resumability-and-redelivery"),
    statement: "Give events ids.",
  },
  {
    id: "S47",
    role: "server",
    level: "MUST",
    spec: inSpec("basic/transports#resumability-and-redelivery"),
    statement: "Event ids are unique over all streams of a session.",
  },
  {
    id: "S48",
    role: "server",
    level: "SHOULD",
    spec: inSpec("basic/transports#resumability-and-redelivery", ["2025-11-25"]),
    statement: "An event id tells which stream it is of.",
  },
  {
    id: "S49",
    role: "client",
    level: "SHOULD",
    spec: inSpec("basic/transports#resumability-and-redelivery"),
    statement: "Resume a stream, a POST's too, by a GET with `Last-Event-ID`.",
    tests: {
      "core/src/answer/resume-stream.test.ts": [
        "continues a stream that ended without its answer, from the last whole event",
        "continues a stream that broke, as often as there is news",
      ],
      "core/src/answer/inbound-stream.test.ts": [
        "a GET with Last-Event-ID > goes out on the session",
      ],
    },
  },
  {
    id: "S50",
    role: "server",
    level: "MAY",
    spec: inSpec("basic/transports#resumability-and-redelivery"),
    statement: "Replay what followed on that stream.",
  },
  {
    id: "S51",
    role: "server",
    level: "MUST NOT",
    spec: inSpec("basic/transports#resumability-and-redelivery"),
    statement: "Replay messages of another stream.",
    tests: { "core/src/answer/hostile-answers.test.ts": ["on the stream that resumes it"] },
    note: "A client's side of it: a foreign answer on a resumed stream reaches nobody.",
  },
];
