import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import { currentScope } from "../registry/run-scope.ts";

/** What `joinOrRun` opens a run with. */
type InRun<T> = (run: { readonly registry: ConnectionRegistry<any> }) => T | PromiseLike<T>;

/**
 * Runs `use` in the run around the calling code; where there is none, in one that `open` opens. The outer
 * run owns what is open, and closes it; a run of its own ends with `use`.
 *
 * @example
 * const answer = (prompt: string) =>
 *   joinOrRun(
 *     ({ registry }) => think(registry, prompt),
 *     (run) => sessions.run(chatId, { principal }, run),
 *   );
 *
 * @param open gets a function to run: in `sessions.run`, or in `provider.run`
 * @returns what `use` returned, or what `open` did
 */
export async function joinOrRun<T, OPENED = T>(
  use: InRun<T>,
  open: (run: InRun<T>) => Promise<OPENED>,
): Promise<T | OPENED> {
  const around = currentScope();
  if (around === undefined) return await open(use);
  const { registry } = around;
  return await registry.run(() => use({ registry }));
}
