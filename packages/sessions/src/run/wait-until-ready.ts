import { abortable, anySignal, tryInsistently, withTimeLimit } from "@durable-mcp/core/internal";
import { McpSessionError } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import { connectionUnavailable } from "../events/connection-error.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { type ReadyOptions, readySchema } from "./run-options.ts";

export async function waitUntilReady(
  connection: LiveConnection,
  stepSignal: AbortSignal,
  options: ReadyOptions = {},
): Promise<void> {
  const { timeoutMs = 60_000, abortSignal } = checkOptions(readySchema, options);
  const callers = anySignal(stepSignal, abortSignal);
  const signal = withTimeLimit(timeoutMs, callers);
  let last: unknown;
  const attempt = async () => {
    signal.throwIfAborted();
    try {
      await connection.probe(signal);
    } catch (error) {
      last = connectionUnavailable(error, connection.name, connection.origin);
      throw last;
    }
  };
  try {
    const isFinal = (error: unknown) => signal.aborted || !isPassing(error);
    await abortable(tryInsistently(timeoutMs, attempt, isFinal), signal);
  } catch (error) {
    callers.throwIfAborted();
    if (!signal.aborted) throw error;
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `Connection ${connection.name}: the server at ${connection.origin} did not answer within ${timeoutMs} ms. Check that it is started there.`,
      {
        data: { connection: connection.name, origin: connection.origin, reason: "timeout" },
        cause: last,
      },
    );
  }
}

/** Reasons that no wait changes. */
const lasting: ReadonlySet<unknown> = new Set([
  "authorization-required",
  "other-era",
  "other-origin",
  "redirect",
]);

/** Whether a server that is still starting, or a proxy in front of it, may fail like this. */
function isPassing(error: unknown): boolean {
  if (!McpSessionError.isInstance(error) || error.code !== "CONNECTION_UNAVAILABLE") return false;
  const { status, field, reason } = error.data;
  return field === undefined && status !== 403 && !lasting.has(reason);
}
