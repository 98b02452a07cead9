import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
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
import { z } from "zod";
import type { AuthorizationServer } from "./authorization-server.ts";

/** What has happened at the shop. */
interface ShopCounts {
  requests: number;
  /** MCP sessions that began. */
  sessions: number;
}

export interface LockedShop {
  readonly url: string;
  readonly counts: ShopCounts;
  readonly orders: string[];
  close: () => void;
}

const sessionNotFound = {
  jsonrpc: "2.0",
  error: { code: -32001, message: "Session not found" },
  id: null,
};

/**
 * A stateful MCP server that needs a token for each request. Its metadata (RFC 9728) says whose. A session is that of
 * one user: with another one's token it is not found.
 */
export async function startLockedShop({
  issuer,
  resourceServer,
}: AuthorizationServer): Promise<LockedShop> {
  const counts: ShopCounts = { requests: 0, sessions: 0 };
  const orders: string[] = [];
  const sessions = new Map<string, { user: string; transport: StreamableHTTPServerTransport }>();
  const metadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
  const app = createMcpExpressApp();
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);

  async function startSession(user: string): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        sessions.set(id, { user, transport });
        counts.sessions += 1;
      },
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await createShop(orders).connect(transport);
    return transport;
  }

  async function findSession(sessionId: string | undefined, user: string, message: unknown) {
    if (sessionId === undefined && isInitializeRequest(message)) return await startSession(user);
    const session = sessions.get(sessionId ?? "");
    return session?.user === user ? session.transport : undefined;
  }

  app.use(
    mcpAuthMetadataRouter({
      ...{ oauthMetadata: metadata, resourceServerUrl: url, scopesSupported: ["orders"] },
    }),
  );
  app.use("/mcp", (_request, _response, next) => {
    counts.requests += 1;
    next();
  });
  app.use(
    "/mcp",
    requireBearerAuth({
      requiredScopes: ["orders"],
      resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url),
      expectedResource: url,
      verifier: { verifyAccessToken: createIntrospection(metadata, resourceServer) },
    }),
  );
  app.all("/mcp", (request, response) => {
    const sessionId = request.headers["mcp-session-id"]?.toString();
    const user = String(request.auth?.extra?.["user"]);
    // Express answers 500 when this fails.
    return findSession(sessionId, user, request.body).then((transport) =>
      transport
        ? transport.handleRequest(request, response, request.body)
        : void response.status(404).json(sessionNotFound),
    );
  });
  return {
    ...{ url: url.href, counts, orders },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Asks the authorization server about each token (RFC 7662), so that a revoked one is refused at once. */
function createIntrospection(
  metadata: { introspection_endpoint: string },
  { id, secret }: AuthorizationServer["resourceServer"],
) {
  return async (token: string) => {
    const body = new URLSearchParams({ token, client_id: id, client_secret: secret });
    const answer = await fetch(metadata.introspection_endpoint, { method: "POST", body });
    const said = await answer.json();
    if (said.active !== true) throw new InvalidTokenError("The access token is not good any more");
    return {
      ...{ token, clientId: said.client_id, scopes: said.scope.split(" ") },
      ...{ expiresAt: said.exp, resource: new URL(said.aud), extra: { user: said.sub } },
    };
  };
}

function createShop(orders: string[]): McpServer {
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  server.registerTool(
    "order",
    { description: "Orders an item for the user.", inputSchema: { item: z.string() } },
    ({ item }) => {
      orders.push(item);
      return { content: [{ type: "text", text: `Ordered ${item}.` }] };
    },
  );
  return server;
}
