import { McpSessionError } from "@durable-mcp/core";
import { withTimeLimit } from "@durable-mcp/core/internal";
import type { LiveConnection } from "../connection/live-connection.ts";
import { callTimedOut } from "../errors/connection-error.ts";

export interface CallOptions {
  readonly abortSignal?: AbortSignal | undefined;
  /**
   * In milliseconds, 1 to 2147483647; the call fails with `OUTCOME_UNKNOWN`. @default `timeouts.callMs`
   * of the connection
   */
  readonly timeoutMs?: number | undefined;
}

/**
 * Calls a tool of a connection: bounded in time, traced, and repeated after a loss if the tool may run
 * twice. The client's errors become ours again.
 *
 * @param attempt makes the call once
 */
export async function boundedCall<T>(
  connection: LiveConnection,
  tool: { readonly name: string; readonly annotations?: unknown },
  attempt: (signal: AbortSignal | undefined) => PromiseLike<T>,
  { abortSignal: callers, timeoutMs }: CallOptions = {},
): Promise<T> {
  const { name, origin, definition } = connection;
  const callMs = timeoutMs ?? definition.options.timeouts?.callMs;
  return await connection.trace({ operation: "call", tool: tool.name }, async (note) => {
    const signal = callMs === undefined ? callers : withTimeLimit(callMs, callers);
    try {
      const result = await connection.withRecovery(tool, async () => await attempt(signal));
      note({ isToolError: isToolError(result) });
      return result;
    } catch (error) {
      const restored = connection.restoreError(error);
      const isLate = signal?.aborted && !callers?.aborted;
      // An error of ours knows more about the fate of the call.
      if (!isLate || McpSessionError.isInstance(restored)) throw restored;
      throw callTimedOut(error, { connection: name, origin, callMs: callMs! });
    }
  });
}

/** Whether a tool's result says that the tool failed. */
export function isToolError(result: unknown): boolean {
  // A tool with an output schema may have an `isError` of its own.
  const { isError, content } = (result ?? {}) as { isError?: unknown; content?: unknown };
  return isError === true && Array.isArray(content);
}
