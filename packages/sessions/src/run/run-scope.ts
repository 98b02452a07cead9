import type { Principal } from "@durable-mcp/core";
import { createAsyncContext } from "../base/async-context.ts";
import type { RepeatedCalls } from "../waiting/repeats.ts";
import type { StoredCalls } from "../waiting/stored-calls.ts";
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
  /** Calls `use` so that it, and all it starts, finds this scope. */
  readonly enter: <T>(use: () => T) => T;
  /** The waiting calls of the run; `undefined` where no call can wait. */
  readonly stored: StoredCalls | undefined;
  readonly repeats: RepeatedCalls;
}

const scopes = createAsyncContext<RunScope>("runScopes");

/** The run around the calling code. */
export const currentScope = scopes.current;

/** Calls `use` so that it, and all it starts, finds `scope`. */
export const enterScope = scopes.enter;

/** Whether the runtime can tell to which run code belongs. */
export const hasScopes = () => scopes.storage() !== undefined;

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
      await nested.enter(inRun);
    } finally {
      abortSignal?.removeEventListener("abort", closeEarly);
      await nested.run.dispose();
    }
  };
  return await runToEndOfStream(run, () => use(nested.run), abortSignal);
}
