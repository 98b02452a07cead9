/**
 * The application's pages with the AI SDK alone.
 *
 *     node application-without.ts <port> <places, as JSON>
 */
import { auth } from "@ai-sdk/mcp";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createFileAuthProvider } from "./file-auth-provider.ts";
import type { Places } from "./shop-connection.ts";

const [port = "", given = ""] = process.argv.slice(2);
const { shopUrl, appUrl, store } = JSON.parse(given) as Places;
const provider = createFileAuthProvider(store, `${appUrl}/oauth/callback`);

const app = new Hono();
app.get("/", (context) => context.html(`<a href="/oauth/start">Sign in to shop</a>`));
app.get("/oauth/start", (context) => context.redirect(provider.authorizationUrl() ?? "/"));
app.get("/oauth/callback", async (context) => {
  const { code = "", state = "", iss = "" } = context.req.query();
  const answer = { authorizationCode: code, callbackState: state, callbackIssuer: iss };
  await auth(provider, { serverUrl: shopUrl, ...answer });
  return context.html("<p>Signed in to shop.</p>");
});
serve({ fetch: app.fetch, port: Number(port), hostname: "127.0.0.1" });
