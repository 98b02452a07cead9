import { inStatelessSpec, type Requirement } from "./requirement.ts";

const clientsOwn =
  "The client's own affair: traffic of a revision without sessions passes through.";
const clientsOwnButRetries =
  "Retries of a call that waited are ours; all other traffic of a revision without sessions passes through.";

const duties = "e2e/src/waiting/client-duties.matrix.test.ts";
const keptLists = "core/src/memory/kept-lists.test.ts";
const underClients = "e2e/src/memory/server-memory.test.ts";
const verdict = "core/src/handshake/client-handshake.stateless.test.ts";
const suite = "e2e/src/conformance/questions.matrix.test.ts";

/** 2026-07-28, the first revision without sessions. */
export const statelessRequirements: readonly Requirement[] = [
  {
    id: "M1",
    role: "both",
    level: "change",
    spec: inStatelessSpec("basic/transports/streamable-http#earlier-streamable-http-revisions"),
    statement: "There are no sessions, no session id and no GET.",
    tests: {
      [verdict]: ["gets everything as it is in later steps, the probe, GET and DELETE too"],
    },
  },
  {
    id: "M2",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("basic/transports/streamable-http#sending-messages"),
    statement: "POST only, with both content types accepted and the metadata in headers.",
    tests: {
      [duties]: ["a retry has the version, the method, the name and the mirrored arguments"],
      [suite]: ["provider-pausing, %s"],
      [underClients]: ["gets the headers of its tool"],
    },
    note: clientsOwnButRetries,
  },
  {
    id: "M3",
    role: "client",
    level: "MUST NOT",
    spec: inStatelessSpec("basic/transports/streamable-http#sending-messages"),
    statement: "Send responses.",
    note: clientsOwn,
  },
  {
    id: "M4",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("basic/transports/streamable-http#protocol-version-header"),
    statement: "The version header is on every POST and equals that in `_meta`.",
    tests: {
      [verdict]: ["gets everything as it is in later steps"],
      [duties]: ["a retry has the version"],
    },
    note: clientsOwnButRetries,
  },
  {
    id: "M5",
    role: "server",
    level: "MUST",
    spec: inStatelessSpec("basic/versioning#protocol-version-negotiation"),
    statement: "Answer an unsupported version with 400 and −32022, with what is supported.",
    tests: {
      [verdict]: ["is remembered as one by its refusal"],
      "e2e/src/sessions/servers-without-sessions.test.ts": [
        "which never probes, fails and says why",
      ],
    },
  },
  {
    id: "M6",
    role: "server",
    level: "MUST",
    spec: inStatelessSpec("basic/transports/streamable-http#protocol-version-header"),
    statement: "Answer an unknown method with 404 and −32601.",
    tests: { "core/src/session/lost-session.test.ts": ["a refusal has another meaning"] },
    note: "A client's side of it: this 404 is no lost session.",
  },
  {
    id: "M7",
    role: "server",
    level: "MUST NOT",
    spec: inStatelessSpec("basic/transports/streamable-http#receiving-messages"),
    statement: "Send requests of its own on the stream of a response.",
  },
  {
    id: "M8",
    role: "server",
    level: "MUST",
    spec: inStatelessSpec("basic/transports/streamable-http#cancellation"),
    statement: "Take a disconnect for a cancellation.",
  },
  {
    id: "M9",
    role: "both",
    level: "change",
    spec: inStatelessSpec("changelog#major-changes"),
    statement: "No stream is resumed; a request is sent anew under a new id.",
    tests: {
      "e2e/src/waiting/unusual-answers.test.ts": ["a retry whose answer breaks off"],
    },
    note: "A retry of a call that waited may have been carried out, so it is not sent anew: its outcome is unknown. All else is the client's own affair.",
  },
  {
    id: "M10",
    role: "client",
    level: "SHOULD",
    spec: inStatelessSpec("basic/transports/streamable-http#backward-compatibility"),
    statement: "Read the body of a 400 before falling back to `initialize`.",
    note: clientsOwn,
    tests: {
      "core/src/handshake/client-handshake.test.ts": [
        "goes on to the server when initialize is refused",
      ],
    },
  },
  {
    id: "M11",
    role: "server",
    level: "SHOULD",
    spec: inStatelessSpec("basic/transports/streamable-http#earlier-streamable-http-revisions"),
    statement: "Answer GET and DELETE with 405, ignore session and event ids, make none.",
  },
  {
    id: "M12",
    role: "client",
    level: "SHOULD, MAY",
    spec: inStatelessSpec(
      "basic/versioning#backward-compatibility-with-initialization-based-versions",
    ),
    statement: "Remember whether an origin has sessions; ask again when that fails.",
    tests: {
      [verdict]: ["is tried again when the verdict is"],
      "ai-sdk/src/http/old-and-new-servers.test.ts": ["and the next step does not try initialize"],
      "e2e/src/sessions/servers-without-sessions.test.ts": [
        "works without a session and remembers it",
      ],
      [underClients]: ["is met anew in the step after the refusal"],
    },
  },
  {
    id: "M13",
    role: "server",
    level: "MUST",
    spec: inStatelessSpec("server/discover#request"),
    statement: "Offer `server/discover`.",
  },
  {
    id: "M14",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("basic/patterns/mrtr#client-requirements-basic-workflow"),
    statement: "Give `requestState` back as it came, only with the retry, unread.",
    tests: {
      [duties]: [
        "with the answers and the state as it came",
        "no other request has a call's answers",
      ],
      "core/src/waiting/send-leg.test.ts": ["echoes the state of the round, and of no other"],
      [suite]: ["is asked in one and answers in another"],
    },
  },
  {
    id: "M15",
    role: "server",
    level: "MUST",
    spec: inStatelessSpec("basic/patterns/mrtr#server-requirements-basic-workflow"),
    statement: "Trust no `requestState`; protect its integrity.",
  },
  {
    id: "M16",
    role: "server",
    level: "SHOULD",
    spec: inStatelessSpec("basic/patterns/mrtr#server-requirements-basic-workflow"),
    statement: "Bind it to principal, time and request.",
  },
  {
    id: "M17",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("basic/index#resulttype"),
    statement: "No `resultType` means `complete`.",
    tests: {
      "core/src/waiting/complete-result.test.ts": ["without a resultType is a complete one"],
      [suite]: ["is asked in one and answers in another"],
    },
    note: "On a connection that pauses, for calls, reads and prompts, whose clients refuse such a result. Elsewhere it is the client's own affair.",
  },
  {
    id: "M18",
    role: "server",
    level: "MUST NOT",
    spec: inStatelessSpec("basic/index#statelessness"),
    statement: "Rely on earlier requests of the connection.",
  },
  {
    id: "M19",
    role: "server",
    level: "MUST",
    spec: inStatelessSpec("basic/patterns/subscriptions#acknowledgment"),
    statement: "Acknowledge a subscription before anything else.",
  },
  {
    id: "M20",
    role: "server",
    level: "MUST",
    spec: inStatelessSpec("server/utilities/caching#cacheable-results"),
    statement: "Say how long and for whom lists and reads may be kept.",
    tests: {
      [keptLists]: ["as long as the server allows, page by page", "nothing is kept > with ttlMs"],
      [underClients]: ["in a later step, if the server allows it"],
    },
    note: "A client's side of it: it keeps what a server allows, and no longer.",
  },
  {
    id: "M21",
    role: "client",
    level: "MUST NOT",
    spec: inStatelessSpec("server/utilities/caching#cache-scope-field"),
    statement: "Share private results between authorizations.",
    tests: { [keptLists]: ["of another slot gets nothing of a %s result"] },
    note: "A slot is of one principal, and nothing is shared between slots, whatever the scope.",
  },
  {
    id: "M22",
    role: "client",
    level: "MUST NOT",
    spec: inStatelessSpec("server/utilities/caching#cache-key"),
    statement: "Keep results of requests that carried input or state.",
    tests: {
      [duties]: ["nothing keeps what a retry brought"],
      [keptLists]: ["asks with other parameters, and keeps none of it"],
    },
    note: "A call that waited keeps its result for the conversation that it belongs to, and for no other request.",
  },
  {
    id: "M23",
    role: "client",
    level: "MUST NOT",
    spec: inStatelessSpec("basic/index#requests"),
    statement: "Use the id of an outstanding request for another.",
    tests: { [duties]: ["under an id of its own"] },
    note: clientsOwnButRetries,
  },
];
