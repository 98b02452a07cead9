import {
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
  requireBearerAuth,
} from "@modelcontextprotocol/server";
import { type AuthorizationServer, scope } from "./authorization.ts";

interface AccountOptions {
  url: URL;
  authorization: AuthorizationServer;
}

/** An MCP server that wants to know who calls. Its metadata (RFC 9728) says where users sign in. */
export function createAccount({
  url,
  authorization,
}: AccountOptions): (request: Request) => Promise<Response> {
  const gate = requireBearerAuth({
    requiredScopes: [scope],
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url),
    expectedResource: url,
    verifier: {
      async verifyAccessToken(token) {
        const found = await authorization.find(token);
        if (found) return found;
        throw new OAuthError(OAuthErrorCode.InvalidToken, "The access token is not good any more");
      },
    },
  });
  const handler = createMcpHandler(({ authInfo }) => {
    const name = String(authInfo?.extra?.["user"]);
    const text = `${name} has 120 points, enough for a free tea.`;
    const server = new McpServer({ name: "account", version: "1.0.0" });
    server.registerTool("points", { description: "The user's points in the tea club." }, () => ({
      content: [{ type: "text", text }],
    }));
    return server;
  });

  return async (request) => {
    const document = oauthMetadataResponse(request, {
      oauthMetadata: authorization.metadata,
      resourceServerUrl: url,
      scopesSupported: [scope],
    });
    if (document) return document;
    const authInfo = await gate(request);
    return authInfo instanceof Response ? authInfo : await handler.fetch(request, { authInfo });
  };
}
