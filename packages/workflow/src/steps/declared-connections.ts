import { checkConnections, redefine, requireDeclared } from "@durable-mcp/sessions/internal";
import { invalid } from "@durable-mcp/core/internal";
import type {
  McpClientConnection,
  McpConnection,
  Principal,
  StatefulSessionOptions,
} from "@durable-mcp/sessions";

/** The declared servers by name, or a function of the principal that returns them. */
export type DeclaredConnections =
  | Record<string, McpConnection>
  | ((principal: Principal | undefined) => Record<string, McpConnection>);

/**
 * The definition of a connection, by the run's name for it.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` if it is not declared, or is a process of the step
 */
export function findConnection(
  declared: DeclaredConnections,
  connection: string,
  principal: Principal,
): McpClientConnection {
  const connections = typeof declared === "function" ? declared(principal) : declared;
  if (connections !== declared) checkConnections(connections);
  const definition = requireDeclared(connections, connection, "connections");
  if (definition.type === "mcp-client") return definition;
  throw invalid(
    "connections",
    `Connection ${connection} is a stdio server, which ends with its step. Put it behind HTTP.`,
  );
}

/** The session options of a stateful connection; `undefined` for a stateless one. */
export function sessionOptionsOf({
  options: { session },
}: McpClientConnection): StatefulSessionOptions | undefined {
  if (session === "stateful") return { mode: "stateful" };
  return typeof session === "object" ? session : undefined;
}

/**
 * The same connection for a step that only calls. It reports a loss. The workflow then opens one session
 * for all calls that met the loss. The server was asked when the run opened the connection.
 */
export function forCalls(definition: McpClientConnection): McpClientConnection {
  const session = sessionOptionsOf(definition);
  const { required: _, ...options } = definition.options;
  return redefine(definition, {
    ...options,
    ...(session && {
      session: {
        ...session,
        onLoss: "report",
        restartOnNewCapabilities: false,
        maxAgeMs: undefined,
      },
    }),
  });
}
