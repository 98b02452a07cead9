import type { AuthorizationFacts, Facts } from "./checks.ts";

/** What durable-mcp makes of a server. */
export interface Verdict {
  /** Whether a connection works as it is pasted. */
  readonly isUsable: boolean;
  /** The first one is the verdict, the others are what to know of it. */
  readonly sentences: readonly string[];
  /** The options of the connection. */
  readonly session?: "stateful";
  readonly memory?: "server" | "pinned";
  readonly auth?: "oauth";
}

const unusable = (...sentences: string[]): Verdict => ({ isUsable: false, sentences });

/** The verdict on a server behind a URL. */
export function judgeServer(facts: Facts): Verdict {
  const { authorization, handshake, modern, oldTransport, tools } = facts;
  if (authorization !== undefined) return judgeLocked(authorization);
  if (oldTransport) {
    const first = "durable-mcp can use it, and has nothing to keep: each step connects anew.";
    const rest = "Ask its author for Streamable HTTP.";
    return { isUsable: true, sentences: [first, rest] };
  }
  if (handshake === undefined && modern === undefined)
    return unusable("No MCP server answered here, so there is nothing to keep.");
  if (tools === undefined)
    return unusable(
      "It answers, and its tools cannot be listed: durable-mcp has nothing to offer a model.",
    );
  return handshake?.hasSession ? judgeSession(facts) : judgeWithoutSession(facts);
}

function judgeLocked(facts: AuthorizationFacts): Verdict {
  const { issuer, registration = [], wasSent, status } = facts;
  const again = "Give the probe a token in DURABLE_MCP_BEARER to see the rest.";
  const refuses = `It refuses the credentials given (${status}).`;
  if (issuer === undefined) {
    if (wasSent) return unusable(refuses);
    const first = "It wants a token or a key, and does not say from where.";
    return unusable(first, `${again} For a header of another name: --header-env.`);
  }
  if (wasSent)
    return { ...unusable(`${refuses} They have to come from ${issuer}.`), auth: "oauth" };
  const how =
    registration.length > 1
      ? "durable-mcp registers by itself, and each user signs in once: auth: oauth."
      : "Register a client with the issuer by hand, and name it in `clients` of createOAuth. Then each user signs in once: auth: oauth.";
  return { ...unusable(`It wants a sign-in at ${issuer}.`, how, again), auth: "oauth" };
}

function judgeSession(facts: Facts): Verdict {
  const { resumedRequests, manySessions, unknownId, endedId, listening, events } = facts;
  const losses = [unknownId, endedId].filter((refusal) => refusal !== undefined);
  const isHidden = losses.some(({ status }) => status < 400);
  const isUnread = losses.some(({ status, loss }) => status >= 400 && loss === "none");
  const isNoticed = losses.length > 0 && !isHidden && !isUnread && manySessions !== false;
  const isUsable = resumedRequests === 1;
  const sentences = [
    isUsable
      ? 'durable-mcp keeps its session, with session: "stateful": a resumed call is one request.'
      : "It has sessions, and a resumed step did not work.",
    manySessions === false &&
      "It serves one client until it restarts. Run one server for each session, or give it a transport per session.",
    isHidden &&
      "It takes ids that it does not know: when it has lost a session, nobody is told, and calls go on without their state.",
    isUnread &&
      "It does not say when a session is lost: one call fails then. `session.classifyLoss` can read its words.",
    isNoticed && "When it loses a session, durable-mcp opens another one and tells the model.",
    listening?.survives === false &&
      "Do not listen on it: a listening stream that closes takes the session with it.",
    events === "replayed" && "An answer that breaks off is fetched again.",
  ];
  return { isUsable, session: "stateful", sentences: sentences.filter((each) => each !== false) };
}

function judgeWithoutSession({ modern, handshake, tools, resumedRequests }: Facts): Verdict {
  if (modern === undefined) {
    const kept =
      resumedRequests === 1
        ? 'durable-mcp keeps its handshake and its tools for an hour, with memory: "server": a resumed call is one request.'
        : "Each step makes its own handshake.";
    const first = "It keeps no session, so there is none to lose.";
    return { isUsable: true, memory: "server", sentences: [first, kept] };
  }
  const isKept = (tools?.ttlMs ?? 0) > 0;
  const sentences = [
    "It has no sessions: its calls carry all they need.",
    isKept
      ? 'durable-mcp keeps what it allows to keep, with memory: "server": until that is too old, a resumed call is one request instead of three.'
      : "It allows nothing to be kept (ttlMs: 0), so a cold step sends three requests. memory: { pinMs } keeps its tools on your word: then a resumed call is one.",
  ];
  if (handshake) sentences.push("It speaks both eras, and gives a session in neither.");
  return { isUsable: true, memory: isKept ? "server" : "pinned", sentences };
}

/** The verdict on a program. */
export function judgeCommand({ server, tools }: Facts): Verdict {
  if (server === undefined || tools === undefined)
    return unusable("The program is no MCP server that durable-mcp can use.");
  return {
    isUsable: true,
    sentences: [
      "durable-mcp runs it for as long as a step lasts, or a pool keeps it. Nothing in its memory outlives that.",
      "If its state has to outlive a step, run it behind HTTP with sessions (mcp-proxy does that), and probe that URL.",
    ],
  };
}
