import {
  createDurableSessions,
  defineMcpClientConnection,
  type DurableSessions,
  type Principal,
} from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import type { SessionContext } from "eve/tools";

let sessions: DurableSessions | undefined;

/** Made on first use: eve also loads this module when it builds the agent. */
export function mcpSessions(): DurableSessions {
  sessions ??= createDurableSessions({
    connections: {
      cart: defineMcpClientConnection({
        url: process.env["CART_URL"]!,
        description: "The user's shopping cart.",
        session: "stateful",
      }),
    },
    store: createSqliteStore({ path: process.env["SESSIONS_DB"]! }),
  });
  return sessions;
}

/** What eve tells of a session in tools, in hooks and in dynamic definitions. */
export type EveSession = Pick<SessionContext["session"], "id" | "auth">;

/** Whose MCP sessions an eve session has. eve verified the caller; nothing is read from the conversation. */
export function ownerOf({ id, auth }: EveSession): { id: string; principal: Principal } {
  const caller = auth.current ?? auth.initiator;
  if (caller === null) throw new Error("The cart belongs to a user: let the channel name one.");
  if (caller.principalType !== "user") return { id, principal: { type: "app" } };
  const issuer = caller.issuer ?? caller.authenticator;
  return { id, principal: { type: "user", issuer, id: caller.principalId } };
}
