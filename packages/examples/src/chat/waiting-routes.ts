import type { DurableSessions, Principal } from "@durable-mcp/ai-sdk";
import type { InputResponses } from "@durable-mcp/core/waiting";
import type { Context, Hono } from "hono";

/** As it comes. The sessions check it before anything is sent. */
interface Answer {
  round: unknown;
  responses: InputResponses;
}

/** The calls of a chat that wait for a person: listed, answered and taken back by whoever they belong to. */
export function addWaitingRoutes(
  app: Hono,
  sessions: DurableSessions,
  signedIn: (context: Context) => Promise<Principal | undefined>,
): void {
  app.get("/api/chats/:id/waiting", async (context) => {
    const principal = await signedIn(context);
    if (principal === undefined) return context.body(null, 401);
    return context.json(await sessions.waiting(context.req.param("id"), { principal }));
  });

  app.post("/api/chats/:id/waiting/:call/answer", async (context) => {
    const principal = await signedIn(context);
    if (principal === undefined) return context.body(null, 401);
    const { id, call } = context.req.param();
    const { round, responses } = await context.req.json<Answer>();
    // Without the round an answer could meet a later question.
    if (typeof round !== "number") return context.body(null, 400);
    // Without the request's abort signal: an answer is sent once, whoever waits for what becomes of it.
    return context.json(await sessions.answer(id, call, responses, { principal, round }));
  });

  app.delete("/api/chats/:id/waiting/:call", async (context) => {
    const principal = await signedIn(context);
    if (principal === undefined) return context.body(null, 401);
    const { id, call } = context.req.param();
    return context.json(await sessions.withdraw(id, call, { principal }));
  });
}
