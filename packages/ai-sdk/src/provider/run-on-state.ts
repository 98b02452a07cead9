import type { McpConnection } from "../connection/mcp-connection.ts";
import type { SessionTools } from "../registry/connection-registry.ts";
import { isStreamed } from "../streams/read-to-end.ts";
import { runToEndOfStream } from "../streams/run-to-end-of-stream.ts";
import type { ConnectionProvider, StateRunOptions, StateRunResult } from "./connection-provider.ts";
import type { ProviderInternals } from "./provider-internals.ts";

/** Runs a step on state that the application carries, and writes the changes back into it. */
export async function runOnState<
  CONNECTIONS extends Record<string, McpConnection>,
  T,
  SESSION extends { state?: unknown },
>(
  {
    create,
    commit,
    internals,
  }: Pick<ConnectionProvider<CONNECTIONS>, "create" | "commit"> & {
    internals: ProviderInternals<CONNECTIONS>;
  },
  { session, onSession, ...options }: StateRunOptions<SESSION>,
  step: (session: SessionTools<CONNECTIONS>) => T | PromiseLike<T>,
): Promise<StateRunResult<T, SESSION>> {
  const registry = create({ ...options, state: session.state });
  let saved = session;
  const save = async () => {
    saved = commit(registry, session);
    if (saved !== session) await onSession?.(saved);
  };
  const { result, over } = await runToEndOfStream({
    run: (inRun) => registry.run(inRun, { onClose: save }),
    step: async () => await step({ tools: await registry.tools(), registry }),
    abortSignal: options.abortSignal,
  });
  const after = over.then(() => saved);
  if (!isStreamed(result)) return { result, session: await after } as StateRunResult<T, SESSION>;
  // The reader of the stream may ignore the session, so its failure must not be an unhandled rejection.
  after.catch(() => {
    for (const { name: connection } of registry.connections) {
      internals.emit({ type: "close-failed", connection, reason: "not-committed" });
    }
  });
  return { result, session: after } as StateRunResult<T, SESSION>;
}
