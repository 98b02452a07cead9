/**
 * The authorization server in the MCP SDK's own examples, on `--port`: a metadata document, dynamic registration, PKCE.
 * It signs everybody in at once as `demo_user`, and has neither pages nor refresh tokens.
 */
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { DemoInMemoryAuthProvider } from "@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js";
import { mcpAuthRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";

const { port } = parseArgs({ options: { port: { type: "string", default: "0" } } }).values;
const issuerUrl = new URL(`http://127.0.0.1:${port}`);
const provider = new DemoInMemoryAuthProvider();
// Tests sign in more often than the SDK allows.
const unlimited = { rateLimit: false } as const;

const app = createMcpExpressApp();
app.use(
  mcpAuthRouter({
    provider,
    issuerUrl,
    authorizationOptions: unlimited,
    clientRegistrationOptions: unlimited,
    tokenOptions: unlimited,
  }),
);
// As the SDK's `setupAuthServer` has it.
app.post("/introspect", (request, response) =>
  text(request)
    .then((body) => introspect(new URLSearchParams(body).get("token") ?? ""))
    .then((said) => void response.json(said)),
);
app.listen(Number(port), "127.0.0.1", () => console.log(JSON.stringify({ url: issuerUrl.href })));

async function introspect(token: string) {
  const verified = await provider.verifyAccessToken(token).catch(() => undefined);
  if (!verified) return { active: false };
  return {
    active: true,
    sub: "demo_user",
    client_id: verified.clientId,
    scope: verified.scopes.join(" "),
    exp: verified.expiresAt,
    aud: verified.resource,
  };
}
