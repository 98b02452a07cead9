/**
 * A stateful MCP server on `@modelcontextprotocol/sdk` 1 that needs a token: each session has its own notes, and is
 * that of one user. An unknown id is answered 404.
 */
import { randomUUID } from "node:crypto";
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
} from "@modelcontextprotocol/sdk/server/auth/router.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { registerNotebookTools } from "../fixtures/sdk-v1-notebook.ts";
import { readLockedOptions, recordRefusal } from "./locked-options.ts";
import { allScopes, deletingScope, lockedTools, requiredScope } from "./locked-tools.ts";

const { port, url, metadata, verify } = await readLockedOptions();
const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(url);
const sessions = new Map<string, { subject: string; transport: StreamableHTTPServerTransport }>();

const sessionNotFound = {
  jsonrpc: "2.0",
  error: { code: -32001, message: "Session not found" },
  id: null,
};

const app = createMcpExpressApp();
app.use(
  mcpAuthMetadataRouter({
    oauthMetadata: metadata,
    resourceServerUrl: url,
    scopesSupported: allScopes,
  }),
);
app.use("/mcp", (request, response, next) => {
  const answer = response.json.bind(response);
  response.json = (body) => {
    recordRefusal(response.statusCode, request.body);
    return answer(body);
  };
  next();
});
app.use(
  "/mcp",
  requireBearerAuth({
    requiredScopes: [requiredScope],
    resourceMetadataUrl,
    expectedResource: url,
    verifier: {
      verifyAccessToken: async (token) => {
        const verified = await verify(token);
        if (!verified) throw new InvalidTokenError("The access token is not good any more");
        return { ...verified, token, extra: { subject: verified.subject } };
      },
    },
  }),
);
app.use("/mcp", (request, response, next) => {
  const { method, params } = (request.body ?? {}) as {
    method?: string;
    params?: { name?: string };
  };
  const isDeleting = method === "tools/call" && params?.name === "delete_notes";
  if (!isDeleting || request.auth?.scopes.includes(deletingScope)) return next();
  const scope = `${requiredScope} ${deletingScope}`;
  const challenge = `Bearer error="insufficient_scope", scope="${scope}", resource_metadata="${resourceMetadataUrl}"`;
  response
    .status(403)
    .set("WWW-Authenticate", challenge)
    .json({ error: "insufficient_scope", error_description: "This tool deletes." });
});
app.all("/mcp", (request, response) => {
  const subject = String(request.auth?.extra?.["subject"]);
  const sessionId = request.headers["mcp-session-id"]?.toString();
  // Express answers 500 when this fails.
  return transportOf(sessionId, subject, request.body).then((transport) =>
    transport
      ? transport.handleRequest(request, response, request.body)
      : void response.status(404).json(sessionNotFound),
  );
});
app.listen(port, "127.0.0.1", () => console.log(JSON.stringify({ url: url.href })));

async function transportOf(
  sessionId: string | undefined,
  subject: string,
  message: unknown,
): Promise<StreamableHTTPServerTransport | undefined> {
  if (sessionId === undefined && isInitializeRequest(message)) return await startSession(subject);
  const session = sessions.get(sessionId ?? "");
  return session?.subject === subject ? session.transport : undefined;
}

async function startSession(subject: string): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, { subject, transport }),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  const server = new McpServer({ name: "locked notebook", version: "1.0.0" });
  registerNotebookTools(server, lockedTools([], subject));
  await server.connect(transport);
  return transport;
}
