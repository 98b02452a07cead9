/**
 * An MCP server on `@modelcontextprotocol/server` 2 that needs a token. Without sessions, as in 2026-07-28, each user
 * has notes of their own; a session of an older revision has its own, and is that of one user.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  type AuthInfo,
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  isLegacyRequest,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
  requireBearerAuth,
  requireScopes,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { bindsTokens, checkProof } from "./bound-tokens.ts";
import { readLockedOptions, recordRefusal } from "./locked-options.ts";
import { allScopes, deletingScope, lockedTools, requiredScope } from "./locked-tools.ts";

const { port, url, metadata, verify } = await readLockedOptions();

const gate = requireBearerAuth({
  requiredScopes: [requiredScope],
  resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url),
  expectedResource: url,
  verifier: {
    verifyAccessToken: async (token) => {
      const verified = await verify(token);
      if (!verified)
        throw new OAuthError(OAuthErrorCode.InvalidToken, "The access token is not good any more");
      return { ...verified, token, extra: { subject: verified.subject } };
    },
  },
});

const notesOfUsers = new Map<string, string[]>();
const modern = createMcpHandler(
  ({ authInfo }) => {
    const subject = subjectOf(authInfo);
    const notes = notesOfUsers.get(subject) ?? [];
    notesOfUsers.set(subject, notes);
    return createLockedServer(notes, subject);
  },
  { legacy: "reject" },
);

interface Session {
  readonly subject: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
}
const sessions = new Map<string, Session>();

async function serveSession(request: Request, authInfo: AuthInfo): Promise<Response> {
  const subject = subjectOf(authInfo);
  const sessionId = request.headers.get("mcp-session-id");
  if (sessionId === null) {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { subject, transport }),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await createLockedServer([], subject).connect(transport);
    return transport.handleRequest(request, { authInfo });
  }
  const session = sessions.get(sessionId);
  if (session?.subject === subject) return session.transport.handleRequest(request, { authInfo });
  const error = { code: -32001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}

function createLockedServer(notes: string[], subject: string): McpServer {
  const server = new McpServer({ name: "locked notebook", version: "2.0.0" });
  for (const { name, description, inputSchema, run } of lockedTools(notes, subject)) {
    const scopeChallenge =
      name === "delete_notes" ? requireScopes(requiredScope, deletingScope) : undefined;
    server.registerTool(
      name,
      { description, inputSchema, ...(scopeChallenge && { scopeChallenge }) },
      (args, context) => run(args, context.mcpReq.id),
    );
  }
  return server;
}

function subjectOf(authInfo: AuthInfo | undefined): string {
  return String(authInfo?.extra?.["subject"]);
}

async function serve(request: Request): Promise<Response> {
  const documents = oauthMetadataResponse(request, {
    oauthMetadata: metadata,
    resourceServerUrl: url,
    scopesSupported: allScopes,
  });
  if (documents) return documents;
  const copy = request.clone();
  const response = await admit(request);
  recordRefusal(response.status, await copy.json().catch(() => undefined));
  return response;
}

const keyOf = async (token: string) => (await verify(token))?.key;

async function admit(sent: Request): Promise<Response> {
  const request = bindsTokens() ? await checkProof(sent, keyOf) : sent;
  if (request instanceof Response) return request;
  const authInfo = await gate(request);
  if (authInfo instanceof Response) return authInfo;
  return (await isLegacyRequest(request))
    ? serveSession(request, authInfo)
    : modern.fetch(request, { authInfo });
}

const handler = toNodeHandler({ fetch: serve });
// Its parameter type leaves out the `undefined` that node's own type has.
createServer((request, response) => void handler(request as never, response)).listen(
  port,
  "127.0.0.1",
  () => console.log(JSON.stringify({ url: url.href })),
);
