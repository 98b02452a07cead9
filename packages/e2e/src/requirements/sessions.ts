import { inSpec, type Requirement } from "./requirement.ts";

/** Session ids: assigned, kept, sent, lost and ended. */
export const sessionRequirements: readonly Requirement[] = [
  {
    id: "S52",
    role: "server",
    level: "MAY",
    spec: inSpec("basic/transports#session-management"),
    statement: "Name a session on the answer that carries the result of `initialize`.",
    tests: {
      "core/src/handshake/handshake.test.ts": [
        "takes it from initialize and saves it once initialized was acknowledged",
        "ignores ids on refusals, and on the answer to notifications/initialized",
        "keeps no session of a server that names none",
      ],
      "e2e/src/sessions/one-session-over-three-processes.test.ts": ["keeps one session over three"],
      "e2e/src/sessions/servers-without-sessions.test.ts": [
        "works over three processes and keeps no",
      ],
    },
    note: "A client's side of it: an id on the answer to another request is adopted only after a ping.",
  },
  {
    id: "S53",
    role: "server",
    level: "SHOULD",
    spec: inSpec("basic/transports#session-management"),
    statement: "Ids are unique and cryptographically secure.",
  },
  {
    id: "S54",
    role: "server",
    level: "MUST",
    spec: inSpec("basic/transports#session-management"),
    statement: "Ids are visible ASCII.",
    tests: {
      "core/src/handshake/handshake.test.ts": ["refuses an id %s with a clear error"],
      "core/src/session/hostile-session-id.test.ts": ["a session id that"],
      "core/src/session/session-snapshot.test.ts": ["takes visible ASCII of 1 to 1024 characters"],
    },
    note: "A client's side of it: another id is neither kept nor sent.",
  },
  {
    id: "S55",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/transports#session-management", ["2025-11-25"]),
    statement: "Ids are handled like credentials.",
    tests: {
      "core/src/session/hostile-session-id.test.ts": ["repeats the id"],
      "core/src/wire/server-endpoint.test.ts": [
        "to another origin is refused and never carries the id",
      ],
      "core/src/wire/other-urls.test.ts": ["passes as it is, without an id"],
      "ai-sdk/src/http/secrets.test.ts": [
        "no session id, token or principal is in what an observer",
      ],
      "e2e/src/sessions/session-id-stays-secret.test.ts": [
        "is not in the error",
        "is not in an event",
      ],
    },
  },
  {
    id: "S56",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/transports#session-management"),
    statement: "The id is on each request after `initialize`: `initialized`, GET, DELETE too.",
    tests: {
      "core/src/client-duties.test.ts": ["names id and version on every request"],
      "core/src/create-session-fetch.test.ts": ["sends the slot's id and version"],
      "ai-sdk/src/provider/connection-provider.test.ts": [
        "sends the session's id and version with every",
      ],
      "e2e/src/sessions/one-session-over-all-clients.test.ts": [
        "hands one session from client to client",
      ],
      "e2e/src/sessions/edge-runtime.test.ts": ["keeps one session over two requests"],
    },
  },
  {
    id: "S57",
    role: "server",
    level: "SHOULD",
    spec: inSpec("basic/transports#session-management"),
    statement: "Answer a request without an id with 400.",
    tests: {
      "core/src/session/lost-session.test.ts": ["a 400 of a session router is a definite loss"],
    },
    note: "A client's side of it: servers say so of ids that were there, too, and mean a lost session.",
  },
  {
    id: "S58",
    role: "server",
    level: "MUST",
    spec: inSpec("basic/transports#session-management"),
    statement: "Answer each request with the id of an ended session with 404.",
    tests: {
      "core/src/session/lost-session.test.ts": ["a 404 is a definite loss"],
      "e2e/src/sessions/server-restart.test.ts": ["starts one new session for all calls in flight"],
    },
  },
  {
    id: "S59",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/transports#session-management"),
    statement: "After a 404 to a request with an id, start a new session without one.",
    tests: {
      "core/src/exchange/exchange.recovery.test.ts": [
        "starts a new session once and sends the call again",
        "shares one new session among twenty requests",
        "a second loss in a row > is SESSION_LOST and no answer",
      ],
      "core/src/client-duties.test.ts": ["names id and version on every request"],
      "e2e/src/sessions/server-restart.test.ts": ["starts one new session for all calls in flight"],
      "e2e/src/sessions/edge-runtime.test.ts": ["recovers a session that the server forgot"],
    },
  },
  {
    id: "S60",
    role: "client",
    level: "SHOULD",
    spec: inSpec("basic/transports#session-management"),
    statement: "End a session that is no longer needed with DELETE.",
    tests: {
      "core/src/handshake/end-session.test.ts": ["ends the session with one DELETE"],
      "core/src/create-session-fetch.test.ts": ["answers a DELETE locally, so that closing"],
      "ai-sdk/src/durable/manage-sessions.test.ts": ["are ended, and the next step starts anew"],
    },
    note: "A session is needed until the application ends it: a client that closes ends nothing.",
  },
  {
    id: "S61",
    role: "server",
    level: "MAY",
    spec: inSpec("basic/transports#session-management"),
    statement: "Answer DELETE with 405.",
    tests: {
      "core/src/handshake/end-session.test.ts": ["takes %i for done"],
      "ai-sdk/src/durable/manage-sessions.test.ts": ["are over when the server answers %i"],
    },
  },
  {
    id: "S62",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/authorization#token-requirements"),
    statement: "Authorization is on each HTTP request of a session.",
    tests: {
      "ai-sdk/src/http/get-token.test.ts": ["gives the token of every request, of those that the"],
      "ai-sdk/src/http/auth-provider.test.ts": ["gives its tokens: %s"],
      "ai-sdk/src/durable/manage-sessions.test.ts": [
        "are ended with the connection's headers and token",
      ],
      "core/src/answer/resume-stream.test.ts": ["continues a stream that ended without its answer"],
      "core/src/handshake/client-handshake.test.ts": ["sends initialize without an id, even if"],
    },
  },
  {
    id: "S63",
    role: "server",
    level: "MUST NOT",
    spec: inSpec("client/elicitation#security-considerations", ["2025-11-25"]),
    statement: "Tie the state of an elicitation to a session id alone.",
  },
];
