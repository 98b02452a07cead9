import { McpSessionError } from "@durable-mcp/sessions";
import { FatalError } from "workflow";

/** Has what `work` throws in a form for the event log. */
export async function plainly<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw plainError(error);
  }
}

/**
 * The error in a form for the event log: without its cause, because the cause may repeat a token. A
 * mistake in the program is not worth a second attempt.
 */
export function plainError(error: unknown): unknown {
  if (!McpSessionError.isInstance(error)) return error;
  const { code, message, data } = error;
  if (programFaults.has(code)) return new FatalError(`${code}: ${message}`);
  return new McpSessionError(code, message, { data });
}

const programFaults = new Set<string>([
  "CONNECTION_INVALID",
  "PRINCIPAL_REQUIRED",
  "STATE_INVALID",
]);
