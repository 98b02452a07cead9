import type { StoreBatchStep, StoreDriver } from "@durable-mcp/core/store-driver";
import { createPurgeTurns, putsPerPurge } from "../base/purge-turns.ts";
import { type RedisScript, redisScripts } from "./scripts.ts";

/** Runs a script with the arguments that all have, and with its own. */
export type RunRedisScript = (
  script: RedisScript,
  time: number,
  args: readonly string[],
  signal: AbortSignal | undefined,
) => Promise<unknown>;

/** The writes of the Redis store: one script makes all of them, or none. */
export function createRedisWrites(
  run: RunRedisScript,
): Required<Pick<StoreDriver, "put" | "delete" | "batch">> {
  const isPurge = createPurgeTurns();
  const write = async (
    steps: readonly StoreBatchStep[],
    time: number,
    signal: AbortSignal | undefined,
  ): Promise<number | undefined> => {
    const purged = isPurge(steps) ? 2 * putsPerPurge : 0;
    const args = [String(purged), ...steps.flatMap(printStep)];
    const conflict = Number(await run(redisScripts.write, time, args, signal));
    return conflict === 0 ? undefined : conflict - 1;
  };
  return {
    put: async (step, time, signal) =>
      (await write([{ type: "put", ...step }], time, signal)) === undefined,
    delete: async (key, ifRevision, time, signal) =>
      (await write([{ type: "delete", key, ifRevision }], time, signal)) === undefined,
    batch: write,
  };
}

function printStep(step: StoreBatchStep): string[] {
  const { key, ifRevision } = step;
  // The script tells no revision from an empty one.
  const expected = ifRevision === undefined ? "*" : ifRevision === null ? "" : `=${ifRevision}`;
  if (step.type === "delete") return [key, expected, "", "", "", ""];
  const { revision, text, owner, expiresAt = "" } = step;
  return [key, expected, revision, text, owner, String(expiresAt)];
}
