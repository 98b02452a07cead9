import { sessionKey } from "@durable-mcp/core";
import {
  clientConnections,
  type McpConnection,
  notDeclared,
} from "../connection/mcp-connection.ts";
import { checkSessionName } from "../slots/slot-name.ts";
import { endConnections } from "../state/end-connections.ts";
import type { ConnectionProvider } from "./connection-provider.ts";
import type { ProviderInternals } from "./provider-internals.ts";

/** Ends sessions that an agent session's state holds: `end` of a provider. */
export async function endInState<
  CONNECTIONS extends Record<string, McpConnection>,
  SESSION extends { state?: unknown },
>(
  { declaredFor, emit, now }: ProviderInternals<CONNECTIONS>,
  session: SESSION,
  { principal, connection, name, timeoutMs }: Parameters<ConnectionProvider<CONNECTIONS>["end"]>[1],
): ReturnType<typeof endConnections<SESSION>> {
  // Even if there is nothing to end, because a missing principal is a mistake in the program.
  sessionKey({ connection: "any", principal });
  const declared = declaredFor(principal);
  if (connection !== undefined && !Object.hasOwn(declared, connection)) {
    throw notDeclared(connection, Object.keys(declared), "connection");
  }
  if (name !== undefined) checkSessionName(name, "name");
  const definitions = Object.entries(clientConnections(declared)).filter(
    ([each]) => connection === undefined || each === connection,
  );
  return await endConnections({ session, definitions, principal, name, timeoutMs, emit, now });
}
