import { inSpec, type Requirement } from "./requirement.ts";

/** Handshake, version and request ids. */
export const handshakeRequirements: readonly Requirement[] = [
  {
    id: "S1",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/lifecycle#initialization"),
    statement: "`initialize` comes before anything else, a GET included.",
    tests: {
      "core/src/client-duties.test.ts": ["greets the server before anything else"],
      "core/src/answer/inbound-stream.test.ts": ["waits until initialized was acknowledged"],
    },
  },
  {
    id: "S2",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/lifecycle#initialization"),
    statement: "`initialize` names protocol version, capabilities and client info.",
    tests: {
      "core/src/client-duties.test.ts": ["greets the server before anything else"],
      "core/src/handshake/client-handshake.test.ts": [
        "sends initialize without an id, even if the client sent one",
        "does without what the probe does not say",
      ],
    },
  },
  {
    id: "S3",
    role: "client",
    level: "MUST NOT",
    spec: inSpec("basic/lifecycle#initialization", ["2025-03-26"]),
    statement: "`initialize` is never part of a batch.",
    tests: { "core/src/client-duties.test.ts": ["sends each message alone"] },
    note: "A batch that a client makes is the client's own affair: the fetch passes it through.",
  },
  {
    id: "S4",
    role: "server",
    level: "MUST",
    spec: inSpec("basic/lifecycle#initialization"),
    statement: "Answer `initialize` with the server's own capabilities and info.",
  },
  {
    id: "S5",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/lifecycle#initialization"),
    statement: "After a successful `initialize`, also a repeated one, comes `initialized`.",
    tests: {
      "core/src/client-duties.test.ts": ["greets the server before anything else"],
      "core/src/exchange/exchange.recovery.test.ts": [
        "starts a new session once and sends the call again",
      ],
      "e2e/src/sessions/server-restart.test.ts": ["starts one new session for all calls in flight"],
      "e2e/src/sessions/step-killed.test.ts": ["leaves no state, and the next step starts fresh"],
    },
  },
  {
    id: "S6",
    role: "client",
    level: "SHOULD NOT",
    spec: inSpec("basic/lifecycle#initialization"),
    statement: "Send no request but ping before `initialize` is answered.",
    tests: {
      "core/src/client-duties.test.ts": ["greets the server before anything else"],
      "core/src/handshake/handshake.save-point.test.ts": [
        "is awaited before any other request goes on",
      ],
    },
  },
  {
    id: "S7",
    role: "server",
    level: "SHOULD NOT",
    spec: inSpec("basic/lifecycle#initialization"),
    statement: "Send no request but ping and logging before `initialized`.",
  },
  {
    id: "S8",
    role: "client",
    level: "MUST, the latest SHOULD",
    spec: inSpec("basic/lifecycle#version-negotiation"),
    statement: "Offer a supported version, the latest one.",
    tests: {
      "core/src/client-duties.test.ts": ["offers the revision that the client offers"],
      "core/src/handshake/client-handshake.test.ts": ["makes the session with what the probe says"],
    },
  },
  {
    id: "S9",
    role: "server",
    level: "MUST, the latest SHOULD",
    spec: inSpec("basic/lifecycle#version-negotiation"),
    statement: "Answer with the offered version if supported, else with another.",
  },
  {
    id: "S10",
    role: "client",
    level: "SHOULD",
    spec: inSpec("basic/lifecycle#version-negotiation"),
    statement: "Leave a server whose version is not supported; such a session is not kept.",
    tests: {
      "core/src/client-duties.test.ts": ["keeps nothing of a server that the client leaves"],
      "core/src/handshake/handshake.test.ts": ["saves nothing for %s"],
      "core/src/handshake/client-handshake.test.ts": [
        "gives a session up that is newer than the client",
      ],
    },
  },
  {
    id: "S11",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/transports#protocol-version-header", ["2025-06-18", "2025-11-25"]),
    statement: "`MCP-Protocol-Version` is on each request after `initialize`: POST, GET, DELETE.",
    tests: {
      "core/src/client-duties.test.ts": ["names id and version on every request"],
      "core/src/create-session-fetch.test.ts": ["sends the slot's id and version"],
      "core/src/handshake/end-session.test.ts": ["one DELETE that carries id, version"],
      "ai-sdk/src/provider/connection-provider.test.ts": [
        "sends the session's id and version with every",
      ],
      "e2e/src/sessions/one-session-over-three-processes.test.ts": ["keeps one session over three"],
    },
  },
  {
    id: "S12",
    role: "client",
    level: "SHOULD",
    spec: inSpec("basic/transports#protocol-version-header", ["2025-06-18", "2025-11-25"]),
    statement: "The header says what was negotiated, in a resumed step too.",
    tests: {
      "core/src/client-duties.test.ts": ["names id and version on every request"],
      "core/src/handshake/handshake.test.ts": ["initialized carries the negotiated version"],
      "core/src/exchange/exchange.recovery.test.ts": [
        "negotiated something else, and sends its version",
      ],
      "e2e/src/sessions/one-session-over-all-clients.test.ts": [
        "hands one session from client to client",
      ],
    },
  },
  {
    id: "S13",
    role: "server",
    level: "SHOULD",
    spec: inSpec("basic/transports#protocol-version-header", ["2025-06-18", "2025-11-25"]),
    statement: "Without the header and other means, take 2025-03-26.",
  },
  {
    id: "S14",
    role: "server",
    level: "MUST",
    spec: inSpec("basic/transports#protocol-version-header", ["2025-06-18", "2025-11-25"]),
    statement: "Answer an invalid or unsupported version header with 400.",
    tests: { "core/src/session/lost-session.test.ts": ["a refusal has another meaning"] },
    note: "A client's side of it: that 400 is no lost session.",
  },
  {
    id: "S15",
    role: "both",
    level: "MUST (2025-03-26: SHOULD)",
    spec: inSpec("basic/lifecycle#operation"),
    statement: "Keep to the negotiated version and capabilities.",
    tests: {
      "core/src/exchange/exchange.recovery.test.ts": [
        "negotiated something else, and sends its version",
      ],
      "core/src/handshake/client-handshake.test.ts": [
        "does not take a session from the client that uses",
      ],
      "ai-sdk/src/tools/connection-tools.test.ts": ["are none of a server without tools"],
    },
    note: "What a client does with capabilities is its own affair; it is given the server's.",
  },
  {
    id: "S16",
    role: "client",
    level: "MUST NOT",
    spec: inSpec("basic/index#requests"),
    statement: "A request id is a string or an integer, never null.",
    tests: {
      "core/src/wire/request-ids.test.ts": ["gives each request an id that no other fetch uses"],
      "e2e/src/sessions/request-ids.test.ts": ["never repeats a request id within a session"],
    },
  },
  {
    id: "S17",
    role: "client",
    level: "MUST NOT",
    spec: inSpec("basic/index#requests"),
    statement: "A request id is never used twice within a session, whichever process uses it.",
    tests: {
      "core/src/exchange/exchange.test.ts": ["do not meet those of another process on the session"],
      "e2e/src/sessions/request-ids.test.ts": ["never repeats a request id within a session"],
      "e2e/src/sessions/two-processes-at-once.test.ts": [
        "overlapping calls each get their own answers",
      ],
    },
  },
  {
    id: "S18",
    role: "client",
    level: "guidance",
    spec: inSpec("server/utilities/pagination#implementation-guidelines"),
    statement: "Pagination cursors are not kept from one session to the next.",
    tests: {
      "core/src/tools/tool-list.test.ts": [
        "of several pages is kept once all have passed, as one page",
        "does not mix the pages of two listings at once",
      ],
    },
  },
];
