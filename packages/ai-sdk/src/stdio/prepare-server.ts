import { abortable, withTimeLimit } from "@durable-mcp/core/internal";
import type { ConnectionStart } from "../connection/connection-options.ts";
import { describeEnd } from "./stdio-errors.ts";
import type { OpenServer, StdioParts } from "./stdio-server.ts";

/**
 * Runs `session.onStart` before anything else is sent.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`
 */
export async function prepareServer(
  { options, context, errors }: StdioParts,
  { server, client }: OpenServer,
  reason: ConnectionStart["reason"],
): Promise<void> {
  const { session, timeouts } = options;
  if (session?.onStart === undefined) return;
  const startMs = timeouts?.startMs ?? 60_000;
  const abortSignal = withTimeLimit(startMs, context.abortSignal);
  try {
    const hook = session.onStart({ ...context, reason, client, abortSignal });
    await abortable(Promise.race([hook, server.ended]), abortSignal);
    // The hook may have caught the error of a request that met the server's end.
    if (server.end !== undefined) throw new Error(`The server ${describeEnd(server.end)}.`);
  } catch (cause) {
    const isLate = abortSignal.aborted && !context.abortSignal.aborted;
    const why = isLate ? `did not end within ${startMs} ms` : "failed";
    throw errors.unavailable(
      `was not prepared: onStart ${why}; the cause says more. Its process was ended, and the next use starts another.`,
      { cause, field: "onStart", output: server.output() },
    );
  }
}
