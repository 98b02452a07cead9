import type { UIMessageChunk } from "ai";
import type { ChatsContext } from "@durable-mcp/sessions/internal";
import type { Chat, ChatRoute, ChatRouteOptions } from "./chat-options.ts";
import {
  ChatProblem,
  checkChat,
  problemResponse,
  readBody,
  reply,
  stateResponse,
  userMessage,
} from "./chat-requests.ts";
import { createChats } from "./chats.ts";
import type { LiveStream } from "./live-stream.ts";

export function createChatHandlers(options: ChatRouteOptions, context: ChatsContext): ChatRoute {
  const { sessions } = options.agent;
  const chats = createChats(options, context);
  /** A handler of requests of a signed-in user. */
  const handler =
    (handle: (chat: Chat, request: Request) => Promise<Response>) =>
    async (request: Request): Promise<Response> => {
      try {
        const principal = await options.principal(request);
        if (principal == null) throw new ChatProblem("signed-out");
        const id = checkChat(await options.chat?.(request), request);
        return await handle({ id, principal }, request);
      } catch (error) {
        const response = problemResponse(error);
        if (response.status >= 500) chats.onError(error);
        return response;
      }
    };

  return {
    read: async (id, { principal }) => await chats.read({ id, principal }),
    async goOn(id, { principal }) {
      try {
        const answer = await chats.answer(
          { id, principal },
          {},
          new Request("https://worker.invalid"),
        );
        await answer.ended;
        return true;
      } catch (error) {
        if (error instanceof ChatProblem) return false;
        throw error;
      }
    },
    GET: handler(async (chat, { headers }) => {
      if (!headers.get("accept")?.includes("text/event-stream"))
        return reply(await chats.read(chat));
      const stream = await chats.resume(chat);
      return stream ? await respond(stream) : nothing();
    }),
    POST: handler(async (chat, request) => {
      const { message, approval, answer, withdraw, stop } = await readBody(request);
      const { id, principal } = chat;
      if (stop) {
        await chats.stop(chat);
        return reply({});
      }
      if (withdraw) return stateResponse(await sessions.withdraw(id, withdraw.call, { principal }));
      if (answer) {
        const { call, responses, round } = answer;
        return stateResponse(await sessions.answer(id, call, responses, { principal, round }));
      }
      const said = message && userMessage(message, options.acceptParts);
      return await respond(await chats.answer(chat, { said, approval }, request));
    }),
    DELETE: handler(async (chat) => {
      await sessions.end(chat.id, { principal: chat.principal });
      await options.messages?.save(chat, []);
      return nothing();
    }),
  };
}

async function respond(stream: LiveStream<UIMessageChunk>): Promise<Response> {
  const { createUIMessageStreamResponse } = await import("ai");
  return createUIMessageStreamResponse({ stream: stream.read() });
}

const nothing = () => new Response(null, { status: 204 });
