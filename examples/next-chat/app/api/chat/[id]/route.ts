import { createDurableAgentUIStreamResponse } from "@durable-mcp/ai-sdk";
import { consumeStream } from "ai";
import { z } from "zod";
import { chatParts } from "../../../../lib/agent";
import { readChatState } from "../../../../lib/chat-state";
import { currentUser } from "../../../../lib/user";

export const maxDuration = 300;

/** The last thing that the user said. All else of the chat is in the history, and not taken from a browser. */
const requestBody = z.object({
  message: z
    .object({
      id: z.string().min(1).max(100),
      role: z.literal("user"),
      parts: z.array(z.object({ type: z.literal("text"), text: z.string().max(20_000) })).max(10),
    })
    .optional(),
});

/** The chat as it is now, for a page that looks whether anything has changed. */
export async function GET(
  _: Request,
  { params }: { params: Promise<{ id: string }> },
): Promise<Response> {
  const principal = await currentUser();
  if (principal === undefined) return new Response("Open the page first.", { status: 401 });
  const state = await readChatState((await params).id, principal);
  return Response.json(state, { headers: { "cache-control": "no-store" } });
}

/** Answers a message, or goes on where a call has waited for a person. Any process may do it. */
export async function POST(
  request: Request,
  { params }: { params: Promise<{ id: string }> },
): Promise<Response> {
  const principal = await currentUser();
  if (principal === undefined) return new Response("Open the page first.", { status: 401 });
  const { id: chat } = await params;
  const body = requestBody.safeParse(await request.json().catch(() => undefined));
  if (!body.success) return new Response("This is no message.", { status: 400 });

  const { agent, history } = await chatParts();
  const user = principal.id;
  if (!history.begin(user, chat)) return new Response("An answer is under way.", { status: 409 });
  const stopped = new AbortController();
  const signsOfLife = setInterval(() => {
    if (!history.goOn(user, chat)) stopped.abort();
  }, 1_000);
  const end = () => {
    clearInterval(signsOfLife);
    history.end(user, chat);
  };
  try {
    if (body.data.message) history.save(user, chat, [body.data.message]);
    return await createDurableAgentUIStreamResponse({
      agent,
      uiMessages: history.read(user, chat),
      options: { sessionId: chat, principal },
      // Not the request's signal: a reload does not end the answer. Only its user does.
      abortSignal: stopped.signal,
      generateMessageId: () => crypto.randomUUID(),
      messageMetadata: ({ part }) => (part.type === "start" ? { process: process.pid } : undefined),
      onUIMessageStepEnd: ({ messages }) => history.save(user, chat, messages),
      onEnd({ messages }) {
        history.save(user, chat, messages);
        end();
      },
      onError(error) {
        console.error(error);
        return "The answer broke off. The log of the server says why.";
      },
      // The answer is made to its end even if nobody reads it.
      consumeSseStream: ({ stream }) => consumeStream({ stream }),
    });
  } catch (error) {
    end();
    throw error;
  }
}
