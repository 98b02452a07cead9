import type { Principal } from "@durable-mcp/core";
import type { ConnectionRun } from "./connection-run.ts";
import { runToEndOfStream } from "./read-to-end.ts";

/**
 * What a nested run does with a connection:
 *
 * - `"inherit"`: the same client and session as around it; never closed by the nested run.
 * - `"isolate"`: a session of its own, ended on the server with the nested run.
 * - `{ named }`: a session of its own that lasts with the agent session and is found again by its
 *   name, in this step and in later ones. For stateful connections, and for stdio servers, whose process
 *   lasts for the step, or as long as a pool keeps it.
 * - `{ shared }`: the session of that id, which all agent sessions of the principal find. For stateful
 *   connections of durable sessions.
 */
export type ConnectionMode =
  | "inherit"
  | "isolate"
  | { readonly named: string; readonly shared?: undefined }
  | { readonly shared: string; readonly named?: undefined };

/** How a nested run differs from the run around it. */
export interface NestOptions {
  readonly modes: Readonly<Record<string, ConnectionMode | undefined>>;
  /** @default the principal of the run around it */
  readonly principal?: Principal | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** A run, for the code below it. */
export interface RunScope {
  readonly run: ConnectionRun<any>;
  /** Makes a run inside this one. The caller disposes of it. */
  readonly nest: (options: NestOptions) => Promise<RunScope>;
}

/** The part of `AsyncLocalStorage` that is used. */
interface ScopeStorage {
  getStore(): RunScope | undefined;
  run<T>(scope: RunScope, use: () => T): T;
}
type StorageClass = new () => ScopeStorage;

/** One for all copies of this package: bundlers like to make several. */
const storageKey = Symbol.for("durable-mcp.runScopes");

/** The run around the calling code. */
export function currentScope(): RunScope | undefined {
  return storage()?.getStore();
}

/** Calls `use` so that it, and all it starts, finds `scope`; without `AsyncLocalStorage` just calls it. */
export function enterScope<T>(scope: RunScope, use: () => T): T {
  const scopes = storage();
  return scopes === undefined ? use() : scopes.run(scope, use);
}

/** Whether the runtime can tell to which run code belongs. */
export function hasScopes(): boolean {
  return storage() !== undefined;
}

/** Runs `use` in a run inside another, and closes what is its own afterwards, or after its stream. */
export async function runNested<T>(
  around: Pick<RunScope, "nest">,
  options: NestOptions,
  use: (run: ConnectionRun<any>) => T | PromiseLike<T>,
): Promise<T> {
  const { abortSignal } = options;
  const nested = await around.nest(options);
  // Later, because the calls under way are cancelled first, and a closed client cannot do that.
  const closeEarly = () => queueMicrotask(() => void nested.run.dispose());
  const run = async (inRun: () => Promise<void>) => {
    abortSignal?.addEventListener("abort", closeEarly, { once: true });
    try {
      await enterScope(nested, inRun);
    } finally {
      abortSignal?.removeEventListener("abort", closeEarly);
      await nested.run.dispose();
    }
  };
  return await runToEndOfStream(run, () => use(nested.run), abortSignal);
}

function storage(): ScopeStorage | undefined {
  const holder = globalThis as { [storageKey]?: ScopeStorage | undefined };
  if (holder[storageKey] === undefined) {
    const Storage = storageClass();
    holder[storageKey] = Storage && new Storage();
  }
  return holder[storageKey];
}

/** Not an import, because other runtimes do not have Node's module. */
function storageClass(): StorageClass | undefined {
  const runtime = globalThis as {
    process?: { getBuiltinModule?: (id: string) => unknown };
    AsyncLocalStorage?: StorageClass;
  };
  if (runtime.AsyncLocalStorage !== undefined) return runtime.AsyncLocalStorage;
  try {
    const hooks = runtime.process?.getBuiltinModule?.("node:async_hooks");
    return (hooks as { AsyncLocalStorage?: StorageClass } | undefined)?.AsyncLocalStorage;
  } catch {
    // Next's edge runtime has the function, and throws when it is called.
    return undefined;
  }
}
