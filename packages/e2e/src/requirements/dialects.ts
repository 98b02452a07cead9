import type { Requirement } from "./requirement.ts";

/** What servers do that the specification does not say, and clients have to live with. */
export const dialectRequirements: readonly Requirement[] = [
  {
    id: "D1",
    role: "client",
    level: "seen",
    spec: [],
    statement: "A 404 as plain text, or as JSON with the request's id, with null or with none.",
    tests: { "core/src/session/lost-session.test.ts": ["a 404 is a definite loss > %s"] },
  },
  {
    id: "D2",
    role: "client",
    level: "seen",
    spec: [],
    statement: "400 “Server not initialized” to an old id after a restart.",
    tests: {
      "core/src/session/lost-session.test.ts": [
        "a 400 of a session router is a definite loss > %s",
      ],
      "core/src/exchange/resend-policy.test.ts": [
        "recovers from a router's 400 and sends the call again",
        "fails once, without a loop, on a server with one transport",
      ],
    },
  },
  {
    id: "D3",
    role: "client",
    level: "seen",
    spec: [],
    statement: "400 to an unknown id.",
    tests: {
      "core/src/session/lost-session.test.ts": [
        "a 400 of a session router is a definite loss > %s",
        "another refusal that speaks of the session is a probable loss",
      ],
    },
  },
  {
    id: "D4",
    role: "client",
    level: "seen",
    spec: [],
    statement: "409 to a second GET.",
    tests: {
      "core/src/answer/inbound-stream.test.ts": [
        "never opens a second stream beside the first",
        "waits for the stream of the step before to close, and then gives up",
      ],
    },
  },
  {
    id: "D5",
    role: "client",
    level: "seen",
    spec: [],
    statement: "404 to a request without an id is no lost session.",
    tests: {
      "core/src/exchange/exchange.refusals.test.ts": ["404 of a server that names no sessions"],
      "ai-sdk/src/http/old-and-new-servers.test.ts": [
        "is never sent a call twice, not after a 404",
      ],
    },
  },
  {
    id: "D6",
    role: "client",
    level: "seen",
    spec: [],
    statement: "A session id on a refusal or on another answer than that to `initialize`.",
    tests: {
      "core/src/handshake/handshake.test.ts": [
        "ignores ids on refusals, and on the answer to notifications/initialized",
      ],
      "core/src/session/hostile-session-id.test.ts": ["a session id on"],
    },
  },
  {
    id: "D7",
    role: "client",
    level: "seen",
    spec: [],
    statement: "403 to the session of another principal is no lost session.",
    tests: { "core/src/session/lost-session.test.ts": ["%i is no loss, whatever it says"] },
  },
  {
    id: "D8",
    role: "client",
    level: "seen",
    spec: [],
    statement: "Two requests in flight under one id get an error, each other's answers or none.",
    tests: {
      "core/src/exchange/exchange.test.ts": ["do not meet those of another process on the session"],
      "e2e/src/sessions/two-processes-at-once.test.ts": [
        "overlapping calls each get their own answers",
      ],
    },
  },
  {
    id: "D9",
    role: "client",
    level: "seen",
    spec: [],
    statement: "200, 204, 404, 405 or silence after DELETE.",
    tests: {
      "core/src/handshake/end-session.test.ts": [
        "takes %i for done",
        "without an answer > gives up when the time is over",
      ],
    },
  },
  {
    id: "D10",
    role: "client",
    level: "seen",
    spec: [],
    statement: "`fetch` takes the session id along on a redirect to another origin.",
    tests: {
      "core/src/wire/server-endpoint.test.ts": [
        "to another origin is refused and never carries the id",
      ],
      "core/src/handshake/end-session.test.ts": ["does not follow a redirect"],
    },
  },
];
