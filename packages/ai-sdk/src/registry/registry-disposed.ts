import { McpSessionError } from "@durable-mcp/core";

/** Something was asked of a registry, or of a run, that is over. */
export function registryDisposed(connection?: string): McpSessionError {
  const start = connection === undefined ? "The" : `Connection ${connection}: the`;
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `${start} registry was disposed of, or its run is over. Create one for each step, and wait in a run for all that it starts.`,
    { data: { connection } },
  );
}
