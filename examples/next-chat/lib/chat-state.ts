import type { ChatState as DurableChatState } from "@durable-mcp/ai-sdk";
import type { UIMessage } from "ai";

/** A message of the chat, with the id of the process that answered. */
export type ChatMessage = UIMessage<{ process?: number }>;

/** What a user has, and can end. */
export interface Connections {
  readonly connections: readonly {
    readonly name: string;
    /** An MCP session on its server, or a sign-in. */
    readonly has: "session" | "sign-in";
  }[];
}

/** A chat as any process finds it. Nothing in it is secret for its user. */
export type ChatState = DurableChatState<ChatMessage> & Connections;
