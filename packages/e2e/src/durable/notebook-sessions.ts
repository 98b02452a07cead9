import {
  createDurableSessions,
  defineMcpClientConnection,
  type DurableSessions,
  type Principal,
} from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";

export const principal: Principal = { type: "user", issuer: "https://idp.test", id: "alice" };

/** The durable sessions of an application with one notebook, as each of its processes makes them. */
export function createNotebookSessions({
  url,
  store,
  fetch,
  shared,
  ...clock
}: {
  url: string;
  store: SessionStore;
  fetch?: typeof globalThis.fetch;
  /** The id of a session that the agent sessions share. */
  shared?: string | undefined;
  now?: () => number;
  clockSkewMs?: number;
}): { sessions: DurableSessions; events: string[] } {
  const events: string[] = [];
  const sessions = createDurableSessions({
    connections: {
      notes: defineMcpClientConnection({
        url,
        description: "A notebook.",
        session: { mode: "stateful", shared },
        ...(fetch && { fetch }),
      }),
    },
    store,
    ...clock,
    onEvent: { every: ({ type }) => isOfProgress(type) || events.push(type) },
  });
  return { sessions, events };
}

/** Whether an event only says that something was done. */
function isOfProgress(type: string): boolean {
  return ["client", "operation", "step-ended"].includes(type);
}

/** Calls a tool as the agent loop does, and gives the text of its result. */
export async function callNotebook(
  tools: object,
  name: "add_note" | "list_notes",
  input: object = {},
): Promise<string> {
  const { execute } = (tools as Record<string, { execute: Execute }>)[`notes__${name}`]!;
  const { content } = await execute(input, { toolCallId: "call", messages: [], context: {} });
  return content[0]?.text ?? "";
}

type Execute = (
  input: object,
  options: object,
) => Promise<{ content: { type: string; text: string }[] }>;
