import type { ConnectionRegistry } from "./connection-registry.ts";
import { enterScope, type NestOptions, type RunScope } from "./run-scope.ts";

/** Runs `use` in a run inside another, and closes what is its own afterwards. */
export async function runNested<T>(
  around: RunScope,
  options: NestOptions,
  use: (registry: ConnectionRegistry<any>) => T | PromiseLike<T>,
): Promise<T> {
  const { abortSignal } = options;
  const nested = await around.nest(options);
  const closeEarly = () => void nested.registry.dispose();
  abortSignal?.addEventListener("abort", closeEarly, { once: true });
  try {
    return await enterScope(nested, async () => await use(nested.registry));
  } finally {
    abortSignal?.removeEventListener("abort", closeEarly);
    await nested.registry.dispose();
  }
}
