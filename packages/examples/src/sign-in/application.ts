/**
 * The application's pages. There is no agent in this process, no model and no conversation.
 *
 *     SEALING_KEY=… COOKIE_SECRET=… node application.ts <port> <places, as JSON>
 */
import { createDurableSessions, type Principal } from "@durable-mcp/ai-sdk";
import { serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { getSignedCookie, setSignedCookie } from "hono/cookie";
import { html } from "hono/html";
import { connectShop, type Places, userOf } from "./shop-connection.ts";

const [port = "", given = ""] = process.argv.slice(2);
const places = JSON.parse(given) as Places;
const { connections, oauth, store } = await connectShop(places);
const sessions = createDurableSessions({ connections, store });
const secret = process.env["COOKIE_SECRET"] ?? "";

const app = new Hono<{ Variables: { principal: Principal } }>();

app.post("/login", async (context) => {
  const { name } = await context.req.parseBody();
  if (typeof name !== "string") return context.body(null, 400);
  const how = { httpOnly: true, sameSite: "Lax" } as const;
  await setSignedCookie(context, "name", name, secret, how);
  return context.redirect("/", 303);
});

// Whose browser it is comes from the application's own login, never from the request.
app.use(async (context, next) => {
  const name = await getSignedCookie(context, secret, "name");
  if (!name) return page(context, loginForm);
  context.set("principal", userOf(name));
  return await next();
});

app.get("/", async (context) => {
  const { principal } = context.var;
  const waiting = await sessions.waiting(places.chatId, { principal });
  const links = waiting.flatMap((entry) =>
    entry.type === "sign-in"
      ? [
          html`<p>
            The agent waits. <a href="${entry.startUrl}">Sign in to ${entry.connection}</a>
          </p>`,
        ]
      : [],
  );
  const grants = await oauth.list({ principal });
  return page(context, [
    ...links,
    ...grants.map(({ connection }) => html`<p>Signed in to ${connection}.</p>`),
  ]);
});
app.get("/oauth/*", ({ req, var: { principal } }) => oauth.handler(req.raw, { principal }));

const loginForm = html`<form method="post" action="/login">
  <input name="name" placeholder="Name" required />
  <button>Log in</button>
</form>`;

function page(context: Context, body: unknown) {
  return context.html(
    html`<!doctype html><title>Tea</title>
      <h1>Tea</h1>
      ${body}`,
  );
}

serve({ fetch: app.fetch, port: Number(port), hostname: "127.0.0.1" });
