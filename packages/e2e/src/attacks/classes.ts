/** Tests of a file, under `packages`: those with such titles. */
type Attacks = readonly [file: string, titles: RegExp];

export interface AttackClass {
  readonly name: string;
  readonly attacks: readonly Attacks[];
  /** What does not hold, and why that is so. */
  readonly exceptions?: readonly (readonly [attack: string, reason: string])[];
}

const of =
  (name: string, folder = "src") =>
  (path: string, titles = /(?:)/): Attacks => [`${name}/${folder}/${path}.test.ts`, titles];
const [core, sessions, cli] = [of("core"), of("sessions"), of("cli")];
/** Those that attack sessions with the agents and clients of AI SDK are in `test`. */
const [aiSdk, withAiSdk] = [of("ai-sdk"), of("ai-sdk", "test")];
const [oauth, server, stores, testing] = [of("oauth"), of("server"), of("stores"), of("testing")];

export const attackClasses: readonly AttackClass[] = [
  {
    name: "another principal, agent or sub-agent",
    attacks: [
      aiSdk("agent/sub-agents", /own call|taken back|is none/),
      aiSdk("agent/waiting-agent", /another principal/),
      withAiSdk("connection/server-memory", /each principal/),
      withAiSdk("run/named-sessions", /each principal/),
      withAiSdk("run/process-pool", /shares no process/),
      withAiSdk("sessions/ending-sessions", /another agent|nobody else/),
      withAiSdk("sessions/manage-sessions", /principal/),
      withAiSdk("sessions/one-session", /principal/),
      withAiSdk("sessions/operated-calls", /operator answers|nobody answers/),
      withAiSdk("sessions/sessions-admin", /principal/),
      withAiSdk("sessions/shared-sessions", /principal|of one agent/),
      withAiSdk("sessions/sign-in-steps", /nobody else's/),
      withAiSdk("sessions/waiting-steps", /another principal's|a browser has changed/),
      withAiSdk("tools/forged-placeholder"),
      withAiSdk("waiting/calls-that-last", /only for its principal/),
      withAiSdk("waiting/waiting-in-runs", /another principal/),
      core("session/principal.session-key"),
      core("waiting/owners"),
    ],
  },
  {
    name: "references of due, sealed and encrypted records",
    attacks: [
      withAiSdk("sessions/forged-references"),
      withAiSdk("sessions/sealed-state"),
      core("sealing/encrypted-store"),
    ],
  },
  {
    name: "company logins, workload identity, DPoP",
    attacks: [
      oauth("grants/enterprise-tokens"),
      oauth("grants/workload-tokens"),
      oauth("grants/token-binding"),
    ],
  },
  {
    name: "sign-in: callbacks, links, hosts that it asks",
    attacks: [
      oauth("guard/address-reach"),
      oauth("guard/guarded-fetch"),
      oauth("protocol/discover", /refused|not used|no other|not kept|no key/),
      oauth("sign-in/callback", /refuses|does not accept|no other|once|safely|sends no code|whose/),
      oauth("sign-in/chat-reference", /forged|no key|says nothing/),
      oauth("sign-in/start", /knows no link|no address|no other|does not begin/),
      oauth("eve", /another user/),
    ],
  },
  {
    name: "returnUrl",
    attacks: [oauth("sign-in/handler", /refuses to send/), oauth("sign-in/page")],
  },
  {
    name: "@durable-mcp/server",
    attacks: [
      server("http/hijack"),
      server("http/hostile-clients"),
      server("http/hostile-edge"),
      server("http/limits"),
      server("http/unknown-sessions"),
      server("author/request-state-codec", /alone/),
      server("stateless/stateless-state", /another principal|anonymous/),
      server("records/session-count"),
      server("records/unreadable-records"),
      server("session-tasks/session-tasks", /belongs|passes on no|answers no question|no second/),
      server("streams/forged-event-ids"),
      server("tasks/tasks", /belongs|removed/),
    ],
  },
  {
    name: "the gateway: another's id, forged ids, rebinding, bodies, what goes up",
    attacks: [
      of("gateway")("http/entry"),
      of("gateway")("http/hostile-servers"),
      of("gateway")("session/waiting-questions", /nobody else/),
      core("wire/allowed-hosts"),
      core("wire/lasting-ids"),
    ],
  },
  {
    name: "stores",
    attacks: [
      core("stores/memory-store"),
      core("sealing/encrypted-store.matrix"),
      stores("hung-server"),
      stores("open"),
      stores("sqlite"),
      stores("postgres.matrix"),
      stores("redis.matrix"),
      testing("store/test-session-store"),
    ],
  },
  {
    name: "secrets, in each form, where text leaves",
    attacks: [
      core("base/scrub-text"),
      core("session/hostile-session-id", /repeats|shown/),
      core("wire/scrub-session-id"),
      withAiSdk("connection/connection-secrets"),
      withAiSdk("events/scrub-secrets"),
      withAiSdk("http/secrets"),
      withAiSdk("opentelemetry/metrics", /no metric/),
      withAiSdk("opentelemetry/span-secrets"),
      withAiSdk("sessions/waiting-secrets"),
      sessions("stdio/secret-values"),
      cli("probe/definition", /secret/),
      cli("probe/print-probes", /no value/),
      cli("probe/secrets"),
      oauth("secrets"),
      of("langchain")("secrets"),
      of("workflow")("steps/secrets"),
    ],
    exceptions: [
      [
        "a proof, or a token that was replaced since, of an earlier step, which the server repeats of a task",
        "no record keeps what a step has sent. The proof is used up",
      ],
      ["a secret of fewer than 6 characters", "it would tear other words apart"],
      ["a successful result", "its words are the server's own, and the tool's purpose"],
    ],
  },
  {
    name: "what a server chooses without measure",
    attacks: [
      core("answer/hostile-answers"),
      core("answer/hostile-content-type"),
      core("answer/hostile-events"),
      core("answer/hostile-json"),
      core("session/hostile-headers"),
      core("session/hostile-session-id", /a session id/),
      core("wire/bounded-answers"),
      core("waiting/server-limits"),
      withAiSdk("http/hostile-servers"),
      cli("output/table", /any length/),
    ],
    exceptions: [
      ["any session id is taken", "such a server loses a session without a sign on the wire"],
    ],
  },
  {
    name: "where a session's requests go",
    attacks: [core("wire/other-urls"), core("wire/server-endpoint")],
  },
  {
    name: "the command: what is filled in, started, followed, printed",
    attacks: [
      cli("probe/definition", /leave their place|a terminal obeys/),
      cli("probe/print-probes", /without being|own|asked at a|too large|escape/),
      cli("probe/probe-url", /redirect|no tool is called|repeats/),
      cli("program", /obeys|does not repeat/),
      cli("waiting/answer", /no terminal|no server that|no value/),
    ],
  },
  {
    name: "forms",
    attacks: [core("waiting/questions/form-problem"), ["react/src/question.test.tsx", /(?:)/]],
  },
  {
    name: "createFaultyProxy",
    attacks: [testing("server/faulty-server", /own server/)],
  },
];
