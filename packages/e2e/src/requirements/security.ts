import { inSpec, type Requirement, type SpecPlace } from "./requirement.ts";

const bestPractices = (anchor: string, revision = "2025-11-25"): readonly SpecPlace[] => [
  {
    part: "docs",
    page: `tutorials/security/security_best_practices#${anchor}`,
    revisions: [revision],
  },
];

/** Security of the transport, the best practices, and older servers. */
export const securityRequirements: readonly Requirement[] = [
  {
    id: "S73",
    role: "server",
    level: "MUST",
    spec: inSpec("basic/transports#security-warning"),
    statement: "Validate `Origin`; from 2025-11-25 on an invalid one is a 403.",
  },
  {
    id: "S74",
    role: "server",
    level: "SHOULD",
    spec: inSpec("basic/transports#security-warning"),
    statement: "A local server listens on 127.0.0.1 only.",
  },
  {
    id: "S75",
    role: "server",
    level: "SHOULD",
    spec: inSpec("basic/transports#security-warning"),
    statement: "Authenticate all connections.",
  },
  {
    id: "S76",
    role: "client",
    level: "should",
    spec: inSpec("basic/transports#backwards-compatibility"),
    statement:
      "HTTP+SSE is tried only after a failed `initialize` (400, 404, 405), never after a 404 to a request with an id.",
    tests: {
      "ai-sdk/src/http/old-and-new-servers.test.ts": [
        "is used over that, with no session kept",
        "is not looked for after another refusal",
        "is not looked for when only notifications/initialized is refused",
        "is not looked for when a session was being resumed",
      ],
      "core/src/exchange/exchange.refusals.test.ts": [
        "never an answer that looks like an old server's",
      ],
      "core/src/handshake/handshake.test.ts": [
        "of a fresh slot reaches the client",
        "at initialized is",
      ],
    },
  },
  {
    id: "S77",
    role: "server",
    level: "should",
    spec: inSpec("basic/transports#backwards-compatibility"),
    statement: "Serve old clients over HTTP+SSE beside the MCP endpoint.",
  },
  {
    id: "B1",
    role: "server",
    level: "MUST",
    spec: bestPractices("session-hijacking"),
    statement: "With authorization, verify every inbound request.",
  },
  {
    id: "B2",
    role: "server",
    level: "MUST NOT",
    spec: bestPractices("session-hijacking"),
    statement: "Use sessions for authentication.",
    tests: { "ai-sdk/src/http/get-token.test.ts": ["gives the token of every request"] },
    note: "A client's side of it: a resumed session is used with its principal's token, not without.",
  },
  {
    id: "B3",
    role: "server",
    level: "MUST",
    spec: bestPractices("session-hijacking"),
    statement: "Ids are secure and cannot be guessed.",
  },
  {
    id: "B4",
    role: "server",
    level: "SHOULD",
    spec: bestPractices("session-hijacking"),
    statement: "Bind ids to the user.",
    tests: {
      "core/src/session/principal.session-key.test.ts": [
        "is the same for equal parts and different for all others",
      ],
      "ai-sdk/src/provider/connection-provider.test.ts": [
        "never share a slot, in one state",
        "are never read from the state",
      ],
      "ai-sdk/src/durable/manage-sessions.test.ts": ["of others stay"],
    },
    note: "A client's side of it: what is saved is keyed by the principal, and used for no other.",
  },
  {
    id: "B5",
    role: "server",
    level: "MUST NOT",
    spec: bestPractices("token-passthrough"),
    statement: "Accept tokens that were not issued for this server.",
    tests: {
      "ai-sdk/src/http/connection-fetch.test.ts": [
        "sends no token or header to another path",
        "goes to other origins with a fetch of the application's, without token",
      ],
    },
    note: "A client's side of it: a token goes to its connection's URL only.",
  },
  {
    id: "B6",
    role: "client",
    level: "MUST, SHOULD",
    spec: bestPractices("server-side-request-forgery-ssrf"),
    statement: "A client on a server guards against SSRF: redirects and foreign hosts.",
    tests: {
      "core/src/wire/server-endpoint.test.ts": [
        "to another origin is refused and never carries the id",
        "redirect during the handshake, too",
      ],
      "core/src/wire/other-urls.test.ts": [
        "is refused without a base fetch, before anything is sent",
      ],
      "ai-sdk/src/http/connection-fetch.test.ts": [
        "follows no redirect, which would take the headers",
      ],
      "oauth/src/guard/guarded-fetch.test.ts": [
        "a public name with %s",
        "a name that DNS moves to a private address is refused",
        "a redirect with %i is not followed",
      ],
    },
    note: "`@durable-mcp/oauth` checks where requests of a sign-in go. Which URLs a connection may have is the application's; so is the base `fetch` of a client that signs in by itself.",
  },
  {
    id: "B7",
    role: "server",
    level: "guidance",
    spec: bestPractices("state-handle-hijacking", "2026-07-28"),
    statement: "To hold a state handle proves no identity.",
  },
];
