import { createMemoryStore } from "@durable-mcp/core";
import {
  createConnectionProvider,
  createDurableSessions,
  defineMcpClientConnection,
} from "../src/index.ts";
import { countLeases } from "./counted-sessions.ts";
import { startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { alice } from "./step.ts";

/** Whose agent session it is. */
export const options = { sessionId: "chat-1", principal: alice };

export const add = (text: string) => ({ tool: "notes__add_note", input: { text } });
export const wait = { tool: "notes__wait" };

/** Only what has a b in it needs to be approved. */
export const toolApproval = ({ toolCall }: { toolCall: { input: unknown } }) =>
  JSON.stringify(toolCall.input).includes("b") ? "user-approval" : "not-applicable";

/** A notebook, and durable sessions with it whose leases are counted. */
export async function startNotebookSessions(store = createMemoryStore()) {
  const server = await startNotebookServer();
  const provider = createConnectionProvider({
    connections: {
      notes: defineMcpClientConnection({
        url: server.url,
        description: "A notebook.",
        session: "stateful",
      }),
    },
  });
  return { server, ...countLeases(createDurableSessions({ provider, store })) };
}
