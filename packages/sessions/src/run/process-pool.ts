import { type Principal, principalParts } from "@durable-mcp/core";
import { detach, maxTimerMs, sameJson } from "@durable-mcp/core/internal";
import { optionalOptions } from "../base/check-options.ts";
import { closeConnection, type LiveConnection } from "../connection/live-connection.ts";
import type { ClientClosedReason, ConnectionEvent } from "../events/connection-event.ts";
import type { StepEvents } from "../events/step-events.ts";
import { describeProcess, type ListedSession } from "../records/named-slots.ts";
import type { EndedSession } from "../records/session-reports.ts";
import { type ConnectionUse, type SlotName, slotParts } from "../records/step-slot.ts";
import { connectInRun, type KeptProcess, type Make, newProcess } from "./kept-process.ts";

/** Options of a pool, which keeps stdio servers between the runs of this process. */
export interface ConnectionPoolOptions {
  /** How long a server is kept after its last run, in milliseconds. @default 60000 */
  readonly keepAliveMs?: number | undefined;
  /** How many servers without a run are kept. The one used longest ago ends first. @default 100 */
  readonly max?: number | undefined;
}

const limit = [0, maxTimerMs] as const;
export const poolSchema = optionalOptions({ keepAliveMs: limit, max: limit });

/** The part of a pool that belongs to one agent session. */
export type SessionPool = ReturnType<ProcessPool["of"]>;
type ProcessPool = ReturnType<typeof createProcessPool>;

/** @param emit for what happens to a process that no run has */
export function createProcessPool(
  options: ConnectionPoolOptions,
  emit: (event: ConnectionEvent) => void,
  now: () => number,
) {
  const kept = createKeptProcesses(options, emit, now);

  return {
    /** @param scope the parts that name the agent session */
    of: (scope: readonly unknown[]) => ({
      /** Connects for one run. Closing the connection gives the process back. */
      connect(use: ConnectionUse, events: StepEvents, make: Make): LiveConnection {
        const own = kept.take(use, scope, events, make);
        const closed = async () => await kept.closings.of(own.key);
        return connectInRun(own, use.step.signal, closed, () => kept.give(own));
      },
      /** The principal's processes under names: in use, or waiting for the next run. */
      processes: (principal: Principal | undefined): ListedSession[] =>
        kept
          .select(scope, principal)
          .flatMap(({ use, connection, runs, idleSince, keepAliveMs }) =>
            describeProcess(use.slot, connection, runs > 0 ? now() : idleSince, keepAliveMs),
          ),
    }),
    /**
     * Ends processes, with names and without.
     *
     * @param scope the first parts of the scopes of the agent sessions
     * @param mode with `restart` the next use starts another, and the model is told
     */
    async end(
      scope: readonly unknown[],
      principal: Principal,
      selects: (slot: SlotName) => boolean,
      mode: "restart" | "end",
    ): Promise<(SlotName & Pick<EndedSession, "ended"> & { scope: readonly unknown[] })[]> {
      const chosen = kept.select(scope, principal).filter(({ use }) => selects(use.slot));
      const ends = chosen.map(async (each) => {
        await each.connection.process?.end(mode);
        if (mode === "end" && each.runs === 0) await kept.discard(each, "stale");
        return { ...each.use.slot, scope: each.scope, ended: true };
      });
      return await Promise.all(ends);
    },
    /** Closes all processes without a run. From now on each one is closed when it is given back. */
    closeAll: kept.closeAll,
  };
}

/** The processes that the pool has, with those that runs have now. */
function createKeptProcesses(
  { keepAliveMs = 60_000, max = 100 }: ConnectionPoolOptions,
  emit: (event: ConnectionEvent) => void,
  now: () => number,
) {
  /** Those without a run are in the order of their last use. */
  const processes = new Map<string, KeptProcess>();
  const closings = createClosings();
  let isClosed = false;
  const idle = () => [...processes.values()].filter(({ runs }) => runs === 0);

  const close = async (kept: KeptProcess, reason: ClientClosedReason): Promise<void> => {
    if (processes.get(kept.key) === kept) processes.delete(kept.key);
    await closings.close(kept, reason);
  };
  /** Closes it now if no run has it, else when the last run gives it back. */
  const discard = async (kept: KeptProcess, reason: ClientClosedReason): Promise<void> => {
    processes.delete(kept.key);
    clearTimeout(kept.timer);
    if (kept.runs === 0) await close(kept, reason);
  };

  const take = (
    use: ConnectionUse,
    scope: readonly unknown[],
    events: StepEvents,
    make: Make,
  ): KeptProcess => {
    const { slot, principal, definition, idleTimeoutMs } = use;
    const key = JSON.stringify([scope, slotParts(slot), ...ownerParts(principal)]);
    const found = processes.get(key);
    const fits = found && sameDefinition(found.use.definition.options, definition.options);
    if (found && !fits) void discard(found, "stale");
    const kept = fits
      ? found
      : newProcess({ key, scope, use, idleSince: now() }, events, make, emit);
    processes.set(key, kept);
    clearTimeout(kept.timer);
    kept.runs += 1;
    kept.events = events;
    kept.keepAliveMs = idleTimeoutMs ?? kept.keepAliveMs;
    return kept;
  };
  const give = async (kept: KeptProcess): Promise<void> => {
    kept.runs -= 1;
    if (kept.runs > 0) return;
    kept.events = undefined;
    if (isClosed) return await close(kept, "shutdown");
    const isCurrent = processes.get(kept.key) === kept;
    // One that died keeps its place, and the next one tells the model.
    const isKept = isCurrent && kept.connection.process?.status() !== undefined;
    if (!isKept) return await close(kept, "stale");
    processes.delete(kept.key);
    processes.set(kept.key, kept);
    kept.idleSince = now();
    kept.isUnproven = true;
    kept.restarting = undefined;
    kept.timer = setTimeout(() => void discard(kept, "idle"), kept.keepAliveMs ?? keepAliveMs);
    detach(kept.timer);
    const all = idle();
    if (all.length <= max) return;
    // A name is only given up when nothing else is left.
    void discard(all.find(({ use }) => use.slot.name === undefined) ?? all[0]!, "max");
  };

  return {
    ...{ take, give, discard, closings },
    select: (scope: readonly unknown[], principal: Principal | undefined): KeptProcess[] =>
      [...processes.values()].filter((kept) => isOf(kept, scope, principal)),
    closeAll: async (): Promise<void> => {
      isClosed = true;
      await Promise.all([
        ...idle()
          .toReversed()
          .map((kept) => discard(kept, "shutdown")),
        ...closings.all(),
      ]);
    },
  };
}

function isOf(
  kept: KeptProcess,
  scope: readonly unknown[],
  principal: Principal | undefined,
): boolean {
  const isInScope = sameJson(kept.scope.slice(0, scope.length), scope);
  return isInScope && sameJson(ownerParts(kept.use.principal), ownerParts(principal));
}

/** The processes that are being closed, by key: they may hold a port, or a lock, that the next one needs. */
function createClosings() {
  const closings = new Map<string, Promise<unknown>>();
  return {
    of: (key: string) => closings.get(key),
    all: () => closings.values(),
    close: async (kept: KeptProcess, reason: ClientClosedReason): Promise<void> => {
      const { connection, time, key } = kept;
      const ending = async () => {
        time.end("closing");
        await closeConnection(connection);
        time.end("closed");
        connection.noteClosed(reason);
      };
      const closing = Promise.all([closings.get(key), ending()]);
      closings.set(key, closing);
      await closing;
      if (closings.get(key) === closing) closings.delete(key);
    },
  };
}

function ownerParts(principal: Principal | undefined): readonly unknown[] {
  return principal === undefined ? [] : principalParts(principal);
}

/**
 * Whether two declarations of a stdio server are equal. Functions and instances of classes count as
 * equal, because a `connections` function makes them anew each time.
 */
function sameDefinition(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== typeof b) return false;
  if (typeof a === "function") return true;
  if (typeof a !== "object" || a === null || b === null) return false;
  return isPlain(a) && isPlain(b!) ? sameEntries(a, b) : !isPlain(a) && !isPlain(b!);
}

function sameEntries(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => sameDefinition(a[name], b[name]));
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Array.isArray(value);
}
