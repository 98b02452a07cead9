import { inSpec, type Requirement } from "./requirement.ts";

/** Cancellation, time-outs, ping and errors. */
export const cancellationRequirements: readonly Requirement[] = [
  {
    id: "S64",
    role: "client",
    level: "MUST NOT",
    spec: inSpec("basic/utilities/cancellation#behavior-requirements"),
    statement: "`initialize` is never cancelled.",
    tests: { "core/src/client-duties.test.ts": ["never cancels initialize"] },
  },
  {
    id: "S65",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/utilities/cancellation#behavior-requirements"),
    statement: "Only the client's own requests that are still in progress are cancelled.",
    tests: {
      "core/src/exchange/exchange.cancel.test.ts": [
        "names the request by the id that the server knows",
        "is kept back for an unknown request",
        "is kept back when two clients wait under the id",
        "sends nothing after the answer, even while its stream is still open",
      ],
      "ai-sdk/src/http/abort.test.ts": ["cancels that call and no other", "after its answer sends"],
    },
  },
  {
    id: "S66",
    role: "client",
    level: "SHOULD",
    spec: inSpec("basic/utilities/cancellation#behavior-requirements"),
    statement: "An answer that comes after the cancellation is ignored.",
    tests: { "core/src/answer/hostile-answers.test.ts": ["after its cancellation"] },
    note: "On its own stream it reaches the client that cancelled, whose affair it is.",
  },
  {
    id: "S67",
    role: "both",
    level: "MUST",
    spec: inSpec("basic/utilities/cancellation#timing-considerations"),
    statement: "Answers and cancellations that cross on the way do no harm.",
    tests: {
      "core/src/exchange/exchange.cancel.test.ts": ["sends nothing after the answer"],
      "core/src/answer/hostile-answers.test.ts": ["after its cancellation"],
    },
  },
  {
    id: "S68",
    role: "both",
    level: "SHOULD",
    spec: inSpec("basic/utilities/cancellation#error-handling"),
    statement: "Cancellations of unknown, finished or malformed requests are ignored.",
    tests: {
      "core/src/client-duties.test.ts": ["survives a cancellation of"],
      "core/src/answer/server-requests.test.ts": ["names a cancelled question by the id"],
    },
    note: "The server's cancellations go to the client, whose affair they are.",
  },
  {
    id: "S69",
    role: "client",
    level: "MUST",
    spec: inSpec("basic/utilities/cancellation#behavior-requirements", ["2025-11-25"]),
    statement: "A task-augmented request is cancelled with `tasks/cancel`.",
    note: "The client's own affair: the fetch passes it on. The provider augments no request.",
  },
  {
    id: "S70",
    role: "both",
    level: "SHOULD",
    spec: inSpec("basic/lifecycle#timeouts"),
    statement: "Requests have a time-out that can be set, after which they are cancelled.",
    tests: {
      "ai-sdk/src/http/abort.test.ts": [
        "callMs ends a call and cancels it",
        "connectMs ends a handshake that hangs",
      ],
      "core/src/handshake/end-session.test.ts": ["gives up when the time is over"],
    },
    note: "Core leaves a call's time to the client's signal; the provider sets it.",
  },
  {
    id: "S71",
    role: "both",
    level: "MAY, a maximum SHOULD",
    spec: inSpec("basic/lifecycle#timeouts"),
    statement: "Progress may extend the time, up to a maximum.",
    tests: { "ai-sdk/src/http/abort.test.ts": ["callMs ends a call and cancels it"] },
    note: "`callMs` is the maximum: nothing extends it.",
  },
  {
    id: "S72",
    role: "both",
    level: "MUST",
    spec: inSpec("basic/utilities/ping#behavior-requirements"),
    statement: "Ping is answered at once, with an empty result.",
    tests: { "core/src/client-duties.test.ts": ["carries a server's ping to the client"] },
    note: "The answer is the client's own; the fetch carries it.",
  },
  {
    id: "S79",
    role: "both",
    level: "SHOULD",
    spec: inSpec("basic/lifecycle#error-handling"),
    statement: "A failed negotiation of version or capabilities and a time-out are handled.",
    tests: {
      "core/src/handshake/handshake.test.ts": ["a refused handshake", "saves nothing for %s"],
      "ai-sdk/src/registry/unavailable-connections.test.ts": [
        "leaves the others working and says so",
      ],
      "ai-sdk/src/http/abort.test.ts": ["connectMs ends a handshake that hangs"],
    },
  },
];
