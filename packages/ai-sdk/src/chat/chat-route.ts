import type { UIMessage } from "ai";
import {
  checkOptions,
  loadedLater,
  optionalOptions,
  chatsContextOf,
} from "@durable-mcp/sessions/internal";
import type { ChatRoute, ChatRouteOptions } from "./chat-options.ts";

const schema = optionalOptions(
  {
    ...{ chat: "function", messages: "object", acceptParts: "function", more: "function" },
    ...{ options: "function", stream: "object", onError: "function" },
    ...{ waitUntil: "function", aliveMs: "ms" },
  },
  { agent: "object", principal: "function" },
);

/**
 * The route of a chat with a durable agent, for `useDurableChat` of `@durable-mcp/react`. A user's message is saved
 * before anything is answered, and one process at a time answers: a message that comes again, because its response got
 * lost, begins no second answer. The answer is made to its end if nobody reads it, and saved after each step. If its
 * process ends, the next request goes on; a call that had begun is not made again, but told to the model.
 *
 * @example
 * export const { GET, POST, DELETE } = createChatRoute({ agent, principal: signedInUser });
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createChatRoute<
  MESSAGE extends UIMessage = UIMessage,
  MORE extends object = object,
>(options: ChatRouteOptions<MESSAGE, MORE>): ChatRoute<MESSAGE, MORE> {
  const checked = checkOptions(schema, options);
  const context = chatsContextOf(checked.agent.sessions, "agent", "createDurableAgent");
  return loadedLater<ChatRoute<any, any>>(["GET", "POST", "DELETE", "read", "goOn"], async () =>
    (await import("./handle-chat.ts")).createChatHandlers(checked, context),
  );
}
