import type { Principal } from "@durable-mcp/ai-sdk";
import type { DurableChatState } from "@durable-mcp/react";
import { chatParts } from "./agent";
import type { ChatMessage } from "./chat-message";

/** A connection as the page shows it. */
export interface ConnectionState {
  readonly name: string;
  /** What there is to end: an MCP session on its server, or a sign-in. */
  readonly has: "session" | "sign-in";
}

/** A chat as any process finds it. Nothing in it is secret for its user. */
export interface ChatState extends DurableChatState<ChatMessage> {
  readonly connections: readonly ConnectionState[];
}

export async function readChatState(
  chat: string,
  principal: Principal & { type: "user" },
): Promise<ChatState> {
  const { agent, oauth, history } = await chatParts();
  // Before the messages: an answer that ends in between is in them.
  const answering = history.answering(principal.id, chat);
  const [waiting, { sessions }, grants] = await Promise.all([
    agent.sessions.waiting(chat, { principal }),
    agent.sessions.list({ principal, sessionId: chat }),
    oauth.list({ principal }),
  ]);
  const kept = sessions.filter(({ kind }) => kind === "session");
  return {
    messages: history.read(principal.id, chat),
    answering,
    waiting,
    connections: [
      ...kept.map(({ connection }) => ({ name: connection, has: "session" as const })),
      ...grants.map(({ connection }) => ({ name: connection, has: "sign-in" as const })),
    ],
  };
}
