import type { UIMessage } from "ai";

/** A message of the chat, with the id of the process that answered. */
export type ChatMessage = UIMessage<{ process?: number }>;
