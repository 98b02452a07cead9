import {
  createDurableSessions,
  defineMcpClientConnection,
  type DurableSessions,
  type McpClientConnectionOptions,
} from "@durable-mcp/ai-sdk";
import type { Principal, SessionStore } from "@durable-mcp/core";
import type { NotesApplication, NotesUse } from "./notes-application.ts";

const toolCallId = "call";
const toolName = "notes__add_note";

/** Agent sessions with the locked notebook, as each process of an application makes them. */
export function createNotesSessions(
  { url }: NotesUse,
  parts: {
    readonly application: Pick<NotesApplication, "oauth">;
    readonly store: SessionStore;
    readonly fetch?: typeof fetch;
    readonly now?: () => number;
    readonly timeouts?: McpClientConnectionOptions["timeouts"];
  },
): DurableSessions {
  const { application, store, fetch, now, timeouts } = parts;
  return createDurableSessions({
    connections: {
      notes: defineMcpClientConnection({
        ...{ url, description: "A notebook.", session: "stateful" },
        auth: application.oauth,
        ...(fetch && { fetch }),
        timeouts,
      }),
    },
    store,
    onEvent: () => undefined,
    ...(now && { now }),
  });
}

/** The one note of an agent session, as the agent loop adds it. */
export async function addNote(
  sessions: DurableSessions,
  sessionId: string,
  principal: Principal,
): Promise<unknown> {
  return await sessions.run(sessionId, { principal }, async (run) => {
    const { execute } = ((await run.tools()) as Record<string, { execute: Execute }>)[toolName]!;
    return await execute({ text: sessionId }, { toolCallId, messages: [], context: {} });
  });
}

type Execute = (input: object, options: object) => Promise<unknown>;
