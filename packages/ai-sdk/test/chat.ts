import { createMemoryStore, type Principal, type SessionStore } from "@durable-mcp/core";
import type { ScriptedModel } from "@durable-mcp/testing/ai-sdk";
import type { UIMessage } from "ai";
import {
  type ChatRouteOptions,
  type ChatState,
  createChatRoute,
  createDurableAgent,
  defineMcpClientConnection,
} from "../src/index.ts";
import { alice, bob } from "./step.ts";

const users: Readonly<Record<string, Principal>> = { alice, bob };

export interface ChatOptions extends Partial<ChatRouteOptions> {
  /** @default none */
  readonly url?: string;
  readonly model: ScriptedModel;
  readonly store?: SessionStore;
  readonly now?: () => number;
  readonly settings?: object;
}

interface As {
  readonly user?: string;
  readonly chat?: string;
}

const requestOf = ({ user = "alice", chat = "chat-1" }: As, init: RequestInit = {}) =>
  new Request(`https://app.example/api/chat/${chat}`, {
    ...init,
    headers: { "x-user": user, ...(init.headers as Record<string, string>) },
  });

/** One of the processes that serve chats: a route, and what a page does with it. */
export function startChat({ url, model, store, now, settings, ...options }: ChatOptions) {
  const notes = () =>
    defineMcpClientConnection({ url: url!, description: "Notes.", session: "stateful" });
  const agent = createDurableAgent({
    connections: url === undefined ? {} : { notes: notes() },
    store: store ?? createMemoryStore(),
    model,
    onEvent: () => undefined,
    ...(now && { now }),
    ...settings,
  });
  const errors: unknown[] = [];
  const route = createChatRoute({
    agent,
    principal: (request) => users[request.headers.get("x-user") ?? ""],
    onError: (error) => void errors.push(error),
    ...options,
  });
  const json = { "content-type": "application/json" };
  const post = async (body: object, as: As = {}) =>
    await route.POST(requestOf(as, { method: "POST", headers: json, body: JSON.stringify(body) }));
  return {
    agent,
    route,
    errors,
    request: requestOf,
    post,
    /** Sends what the user says. */
    say: async (text: string, id = text, as: As = {}) =>
      await post({ message: said(text, id) }, as),
    state: async (as: As = {}) => (await (await route.GET(requestOf(as))).json()) as ChatState,
    resume: async (as: As = {}) =>
      await route.GET(requestOf(as, { headers: { accept: "text/event-stream" } })),
  };
}

export const said = (text: string, id = text) => ({
  ...{ id, role: "user" as const },
  parts: [{ type: "text" as const, text }],
});

/** What was said, a line for each message; calls by their tool and how they ended. */
export function linesOf({ messages }: Pick<ChatState, "messages">): string[] {
  return messages.map(
    ({ role, parts }) => `${role}: ${parts.map(partText).filter(Boolean).join(" ")}`,
  );
}

function partText(part: UIMessage["parts"][number]): string {
  if (part.type === "text") return part.text;
  if (!("toolCallId" in part)) return "";
  const name = part.type === "dynamic-tool" ? part.toolName : part.type.replace("tool-", "");
  const lost = part.state === "output-error" ? `: ${part.errorText.slice(0, 28)}` : "";
  return `[${name} ${part.state}${lost}]`;
}

/** The problem in a response, and its status. */
export async function problemIn(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as { error: string }).error];
}
