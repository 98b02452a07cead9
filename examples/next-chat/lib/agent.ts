import {
  agentTool,
  type ChatRoute,
  createChatRoute,
  createDurableAgent,
  currentConnections,
  type DurableAgent,
  stopWhenWaiting,
} from "@durable-mcp/ai-sdk";
import { createStudio } from "@durable-mcp/ai-sdk/studio";
import { createOAuth, type OAuth } from "@durable-mcp/oauth";
import { openStore } from "@durable-mcp/stores/open";
import { ToolLoopAgent, type ToolSet } from "ai";
import { createConnections } from "./connections";
import type { ChatMessage, Connections } from "./chat-state";
import { chooseModel } from "./model";
import { setting } from "./settings";
import { currentUser } from "./user";

interface ChatParts {
  readonly agent: DurableAgent;
  readonly oauth: OAuth;
  /** Answers, saves and reads chats. */
  readonly chat: ChatRoute<ChatMessage, Connections>;
  /** The page of operators. */
  readonly studio: (request: Request) => Promise<Response>;
  /** The name of the language model; `undefined` if answers come from a script. */
  readonly modelName: string | undefined;
}

/** Everything that pages, routes and actions need. Made at the first request, once for each process. */
export function chatParts(): Promise<ChatParts> {
  return (kept.chatParts ??= createChatParts());
}

// Next.js may load this file more than once.
const kept = globalThis as typeof globalThis & { chatParts?: Promise<ChatParts> };

async function createChatParts(): Promise<ChatParts> {
  const { store } = await openStore(setting("DURABLE_MCP_STORE"));
  const oauth = createOAuth({
    store,
    keys: { current: setting("SEALING_KEY") },
    redirectUrl: `${setting("APP_URL")}/oauth/callback`,
    clientName: "next-chat",
    // The server in servers/ knows this client. At others the application registers itself.
    clients: [{ issuer: setting("AUTHORIZATION_URL"), clientId: "next-chat" }],
    onSignedIn: ({ sessionId }) => (sessionId ? `/chat/${encodeURIComponent(sessionId)}` : "/"),
  });
  const { model, modelName } = chooseModel();
  const tools: ToolSet = {
    // While a call of the helper waits, the helper does: it goes on with its own messages.
    helper: agentTool({
      description: "A helper with the same tools, for errands of several steps.",
      agent: async () =>
        new ToolLoopAgent({
          ...{ model, tools: await currentConnections().tools() },
          ...stopWhenWaiting(),
        }),
    }),
  };
  const agent = createDurableAgent({
    connections: createConnections(oauth),
    store,
    model,
    tools,
    // What happens when the user writes while a call waits: "reply", "hold" or "withdraw".
    whileWaiting: (process.env["WHILE_WAITING"] || "reply") as "reply" | "hold" | "withdraw",
    instructions: "Do what the user asks with the tools that you have, then answer briefly.",
  });
  const chat = createChatRoute<ChatMessage, Connections>({
    agent,
    principal: currentUser,
    stream: {
      messageMetadata: ({ part }) => (part.type === "start" ? { process: process.pid } : undefined),
    },
    async more({ id, principal }) {
      const [{ sessions }, grants] = await Promise.all([
        agent.sessions.list({ principal, sessionId: id }),
        oauth.list({ principal }),
      ]);
      const open = sessions.filter(({ kind }) => kind === "session");
      return {
        connections: [
          ...open.map(({ connection }) => ({ name: connection, has: "session" as const })),
          ...grants.map(({ connection }) => ({ name: connection, has: "sign-in" as const })),
        ],
      };
    },
    onError: console.error,
  });
  const studio = createStudio({
    sessions: agent.sessions,
    // In production your login says who asks, and `origin` where the page is.
    authorize: () =>
      process.env["NODE_ENV"] === "development"
        ? { name: "developer", may: ["look", "answer", "end"] }
        : undefined,
  });
  return { agent, oauth, chat, studio, modelName };
}
