import { type Principal, principalParts } from "@durable-mcp/core";
import { sameJson } from "@durable-mcp/core/internal";
import { describeProcess, type ListedSession } from "../slots/named-slots.ts";
import type { EndedSession } from "../slots/session-reports.ts";
import { type SlotName, slotParts } from "../slots/step-slot.ts";
import type { ConnectionPool, PooledProcess } from "./connection-pool.ts";

/** The key under which a pool keeps a connection. @param scope the parts that name the agent session */
export function poolKey(
  scope: readonly unknown[],
  slot: SlotName,
  principal: Principal | undefined,
): string {
  return JSON.stringify([scope, slotParts(slot), ...ownerParts(principal)]);
}

/** Describes the processes under names of one agent session. */
export function describeProcesses(
  pool: ConnectionPool,
  scope: readonly unknown[],
  principal: Principal | undefined,
): ListedSession[] {
  return processesOf(pool, scope, principal).flatMap(({ pooled, isInUse }) => {
    const { slot, connection, idleSince, keepAliveMs } = pooled;
    const lastUsedAt = isInUse ? pool.now() : idleSince;
    return describeProcess(slot, connection, lastUsedAt, keepAliveMs);
  });
}

/**
 * Ends stdio servers, with names and without, that runs share or that wait for the next run. What a
 * single run has ends with that run.
 *
 * @param scope the first parts of the scopes of the agent sessions
 * @param restart whether the next use starts another, and the model is told
 */
export async function endProcesses(
  pool: ConnectionPool,
  scope: readonly unknown[],
  principal: Principal,
  selects: (slot: SlotName) => boolean,
  mode: "restart" | "end",
): Promise<(SlotName & Pick<EndedSession, "ended"> & { scope: readonly unknown[] })[]> {
  const chosen = processesOf(pool, scope, principal).filter(({ pooled }) => selects(pooled.slot));
  const ends = chosen.map(async ({ key, pooled, isInUse }) => {
    await pooled.connection.process?.end(mode);
    if (mode === "end" && !isInUse) pool.closeKept(key, "stale");
    return { ...pooled.slot, scope: scopeIn(key), ended: true };
  });
  return await Promise.all(ends);
}

function processesOf(
  pool: ConnectionPool,
  scope: readonly unknown[],
  principal: Principal | undefined,
): PooledProcess[] {
  return pool.processes().filter(({ key }) => {
    const [own, , ...owner] = JSON.parse(key) as [unknown[], string, ...string[]];
    const isInScope = sameJson(own.slice(0, scope.length), scope);
    return isInScope && sameJson(owner, ownerParts(principal));
  });
}

function scopeIn(key: string): readonly unknown[] {
  return (JSON.parse(key) as [unknown[]])[0];
}

function ownerParts(principal: Principal | undefined): readonly unknown[] {
  return principal === undefined ? [] : principalParts(principal);
}
