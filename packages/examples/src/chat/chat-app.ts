import {
  createDurableAgentUIStreamResponse,
  type DurableAgent,
  McpSessionError,
  type Principal,
} from "@durable-mcp/ai-sdk";
import { type Context, Hono } from "hono";
import { getSignedCookie, setSignedCookie } from "hono/cookie";
import { addWaitingRoutes } from "./waiting-routes.ts";

interface ChatAppOptions {
  agent: DurableAgent;
  /** Signs the cookie that says who is signed in; the same in all processes. */
  secret: string;
  /** Which process this is, for the page to show. */
  server: string;
}

/** The chat's routes. Whose a chat's sessions are comes from the cookie, never from the request. */
export function createChatApp({ agent, secret, server }: ChatAppOptions): Hono {
  const { sessions } = agent;
  const signedIn = async (context: Context): Promise<Principal | undefined> => {
    const name = await getSignedCookie(context, secret, "name");
    return name ? { type: "user", issuer: "durable-mcp-chat", id: name } : undefined;
  };
  const app = new Hono();

  app.use(async (context, next) => {
    await next();
    context.header("x-served-by", server);
  });

  app.onError((error, context) => {
    const code = McpSessionError.isInstance(error) ? error.code : undefined;
    const status = statusOf(code);
    if (status === 500) console.error(error);
    if (!McpSessionError.isInstance(error)) return context.body(null, status);
    const { field } = error.data;
    return context.json({ code, message: error.message, field }, status);
  });

  app.post("/api/sign-in", async (context) => {
    const { name } = await context.req.json<{ name?: unknown }>();
    if (typeof name !== "string" || !/^\w{1,40}$/.test(name)) return context.body(null, 400);
    await setSignedCookie(context, "name", name, secret, { httpOnly: true, sameSite: "Lax" });
    return context.body(null, 204);
  });

  app.post("/api/chats/:id", async (context) => {
    const principal = await signedIn(context);
    if (principal === undefined) return context.body(null, 401);
    const { messages } = await context.req.json<{ messages: unknown[] }>();
    // Results of calls that have waited for the user take their places first.
    return await createDurableAgentUIStreamResponse({
      agent,
      uiMessages: messages,
      options: { sessionId: context.req.param("id"), principal },
      abortSignal: context.req.raw.signal,
    });
  });

  addWaitingRoutes(app, sessions, signedIn);

  app.get("/api/chats/:id/sessions", async (context) => {
    const principal = await signedIn(context);
    if (principal === undefined) return context.body(null, 401);
    const id = context.req.param("id");
    const [{ sessions: stored }, answers] = await Promise.all([
      sessions.list({ principal, sessionId: id }),
      sessions.status(id, { principal }),
    ]);
    const isAlive = new Map(answers.map(({ connection, alive }) => [connection, alive]));
    return context.json(
      stored.map((session) => ({ ...session, alive: isAlive.get(session.connection) ?? false })),
    );
  });

  app.post("/api/chats/:id/sessions/:connection/:action{restart|end}", async (context) => {
    const principal = await signedIn(context);
    if (principal === undefined) return context.body(null, 401);
    const { id, action } = context.req.param();
    // Another name is refused with CONNECTION_INVALID.
    const selection = { principal, connection: context.req.param("connection") };
    const results =
      action === "end" ? await sessions.end(id, selection) : await sessions.restart(id, selection);
    return context.json(results.map(({ ended, removed }) => ({ ended, removed })));
  });

  return app;
}

function statusOf(code: McpSessionError["code"] | undefined) {
  switch (code) {
    case "CONNECTION_INVALID":
      return 400;
    case "NOT_WAITING":
      return 409;
    case "INPUT_INVALID":
      return 422;
    case "CONNECTION_UNAVAILABLE":
      return 502;
    default:
      return 500;
  }
}
