import { McpSessionError } from "@durable-mcp/core";
import { once } from "../base/once.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { registryDisposed } from "../errors/connection-error.ts";
import type { ConnectionPool, PooledConnection } from "./connection-pool.ts";

/** The states of a use. Its connection was found in the pool, or made for the run. */
type Phase =
  /** Found, and the run has not used it: it goes back as it was. */
  | "untouched"
  /** Found, and its server has not answered the run yet. If it fails, another takes its place. */
  | "unproven"
  /** Found, and its server has answered the run. */
  | "proven"
  /** Made, because none was found or the found one had failed. It has no client yet. */
  | "made"
  /** Made, and it has a client. */
  | "opened"
  /** Given back, or closed. */
  | "over";

interface UseContext {
  readonly pool: ConnectionPool;
  /** The pool keeps the connection under it. */
  readonly key: string;
  readonly found: PooledConnection | undefined;
  readonly make: () => PooledConnection;
  readonly runSignal: AbortSignal;
}

/** One run's use of one pooled connection, from taking it until giving it back. */
export interface PooledUse extends UseContext {
  phase: Phase;
  entry: PooledConnection;
  /** Whether its fetch, or its client, was handed to code that does not say when it is done. */
  isHandedOut: boolean;
  /** The number of calls under way, and of other uses, which may connect. */
  calls: number;
  connecting: number;
  /** Checks, once, whether the found connection still works. */
  readonly ready: () => Promise<void>;
  /** Set as soon as another connection takes the place of the found one. */
  replacing: Promise<void> | undefined;
  readonly abandon: () => void;
}

export function beginUse(context: UseContext): PooledUse {
  const { found, make, runSignal } = context;
  const use: PooledUse = {
    ...context,
    phase: found ? "untouched" : "made",
    entry: found ?? make(),
    isHandedOut: false,
    calls: 0,
    connecting: 0,
    ready: once(async () => await getReady(use)),
    replacing: undefined,
    // A later run cannot use an aborted handshake.
    abandon: () => use.connecting > 0 && use.entry.time.end("closed"),
  };
  runSignal.addEventListener("abort", use.abandon, { once: true });
  found?.connection.renew();
  return use;
}

export function throwIfOver({ phase, entry }: PooledUse): void {
  if (phase === "over") throw registryDisposed(entry.slot.connection);
}

function touch(use: PooledUse): void {
  throwIfOver(use);
  if (use.phase === "untouched") use.phase = "unproven";
}

/** Notes that the fetch or the client is handed out, and used for an unknown time. */
export function handOut(use: PooledUse): void {
  touch(use);
  use.isHandedOut = true;
}

async function getReady(use: PooledUse): Promise<void> {
  const { pool, key, found, entry, runSignal } = use;
  runSignal.throwIfAborted();
  touch(use);
  if (use.replacing) return await use.replacing;
  if (entry !== found) {
    await pool.settle(key);
    return tell(use, "miss");
  }
  if (await isAnswering(use, found)) return tell(use, "hit");
  await replaceFound(use);
}

/** Asks the server of the found connection, if that was idle for long. */
async function isAnswering(use: PooledUse, found: PooledConnection): Promise<boolean> {
  const { pool, runSignal } = use;
  if (pool.now() - found.idleSince < pool.checkAfterMs) return true;
  try {
    const { connection } = found;
    await connection.inConnectTime(runSignal, (signal) => connection.probe(signal));
    return true;
  } catch {
    throwIfOver(use);
    runSignal.throwIfAborted();
    return false;
  }
}

function replaceFound(use: PooledUse): Promise<void> {
  const replace = async () => {
    const dead = use.entry;
    use.entry = use.make();
    use.entry.keepAliveMs = dead.keepAliveMs;
    use.phase = "made";
    // The model is told that the dead process's state is lost.
    await use.entry.connection.process?.end("restart");
    // The old one may hold a port, or a lock, that the new one needs.
    await use.pool.close(dead, "unhealthy");
    tell(use, "miss");
  };
  return (use.replacing ??= replace());
}

/** Whether another may take the place of the used one: if that is the found one, and never answered. */
function isReplaceable(use: PooledUse, used: PooledConnection, error: unknown): boolean {
  const { found, phase, runSignal } = use;
  if (used !== found || phase === "proven" || phase === "over" || runSignal.aborted) return false;
  // An application that asked to be told of losses is told: nothing takes the place of what was lost.
  const isLost = McpSessionError.isInstance(error) && error.code === "SESSION_LOST";
  return !isLost && !isAnswer(error);
}

/** Notes a failure after which the client must not be kept, unless something below recovers from it. */
function suspect(used: PooledConnection, error: unknown): void {
  const { connection, session } = used;
  const recovers = connection.session === "process" || session?.snapshot?.kind === "session";
  if (!recovers && !isAnswer(error)) used.isSuspect = true;
}

/** Runs work that must be over before the client can be kept. */
async function during<T>(
  use: PooledUse,
  kind: "calls" | "connecting",
  work: () => Promise<T>,
): Promise<T> {
  use[kind] += 1;
  try {
    return await work();
  } finally {
    use[kind] -= 1;
  }
}

/** Opens a client on the connection that the pool keeps. */
export async function openKept<T>(
  use: PooledUse,
  open: (kept: LiveConnection) => Promise<T>,
): Promise<T> {
  throwIfOver(use);
  return await during(use, "connecting", async () => {
    await use.ready();
    throwIfOver(use);
    const client = await open(use.entry.connection);
    throwIfOver(use);
    if (use.phase === "made") {
      tell(use, "opened");
      use.entry.isTold = true;
      use.phase = "opened";
    }
    return client;
  });
}

export async function watchRequest<T>(use: PooledUse, request: () => T | Promise<T>): Promise<T> {
  return await during(use, "calls", async () => {
    const used = use.entry;
    try {
      return await request();
    } catch (error) {
      suspect(used, error);
      throw error;
    }
  });
}

export async function probeInUse(use: PooledUse, signal: AbortSignal): Promise<void> {
  touch(use);
  const used = use.entry;
  await during(use, "connecting", async () => {
    try {
      await used.connection.probe(signal);
    } catch (error) {
      if (isReplaceable(use, used, error)) await replaceFound(use);
      throw error;
    }
  });
}

/** Runs a listing or a call. A listing that fails on the found connection is repeated on another. */
export async function recoverInUse<T>(
  use: PooledUse,
  tool: Parameters<LiveConnection["withRecovery"]>[0],
  attempt: () => Promise<T>,
): Promise<T> {
  return await during(use, "calls", async () => {
    await use.ready();
    const used = use.entry;
    try {
      const result = await used.connection.withRecovery(tool, attempt);
      if (use.phase === "unproven") use.phase = "proven";
      return result;
    } catch (error) {
      suspect(used, error);
      if (tool !== undefined || !isReplaceable(use, used, error)) throw error;
      await replaceFound(use);
      throwIfOver(use);
      return await attempt();
    }
  });
}

export function tell({ entry }: PooledUse, action: "hit" | "miss" | "opened"): void {
  entry.events.emit({ type: "client", ...entry.slot, action });
}

/** JSON-RPC codes of clients (the connection closed, the request took too long), and of a refused revision. */
const ownCodes: ReadonlySet<unknown> = new Set([-32000, -32001, -32022]);

/** Whether the error is the server's answer, so that the server is there. */
function isAnswer(error: unknown): boolean {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  return statusCode === undefined && typeof code === "number" && code < 0 && !ownCodes.has(code);
}
