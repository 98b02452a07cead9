import type { McpConnection } from "../connection/mcp-connection.ts";
import type { SessionTools } from "../registry/connection-registry.ts";
import { isStreamed } from "../streams/read-to-end.ts";
import type { ConnectionProvider, StateRunOptions, StateRunResult } from "./connection-provider.ts";

/** Runs a step on state that the application carries, and writes the changes back into it. */
export async function runOnState<
  CONNECTIONS extends Record<string, McpConnection>,
  T,
  SESSION extends { state?: unknown },
>(
  { create, commit }: Pick<ConnectionProvider<CONNECTIONS>, "create" | "commit">,
  { session, onSession, ...options }: StateRunOptions<SESSION>,
  step: (session: SessionTools<CONNECTIONS>) => T | PromiseLike<T>,
): Promise<StateRunResult<T, SESSION>> {
  const registry = create({ ...options, state: session.state });
  const saving = Promise.withResolvers<SESSION>();
  // The run rejects with the same error, or an event tells of it.
  saving.promise.catch(() => undefined);
  const save = async () => {
    try {
      const changed = commit(registry, session);
      if (changed !== session) await onSession?.(changed);
      saving.resolve(changed);
    } catch (error) {
      saving.reject(error);
      throw error;
    }
  };
  const result = await registry.run(
    async () => await step({ tools: await registry.tools(), registry }),
    { onClose: save },
  );
  const saved = isStreamed(result) ? saving.promise : await saving.promise;
  return { result, session: saved } as StateRunResult<T, SESSION>;
}
