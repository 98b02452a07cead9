import { abortable } from "@durable-mcp/core/internal";
import type { LiveConnection } from "../connection/live-connection.ts";
import { createStepTime, type StepTime } from "../connection/step-time.ts";
import { runOver } from "../events/connection-error.ts";
import type { StepEvents } from "../events/step-events.ts";
import type { ConnectionUse } from "../records/step-slot.ts";

/** A stdio server that outlives its runs. All runs of its agent session and principal share it. */
export interface KeptProcess {
  /** The pool finds it under this key. */
  readonly key: string;
  readonly scope: readonly unknown[];
  /** Its first use. */
  readonly use: ConnectionUse;
  readonly connection: LiveConnection;
  /** How long the pool keeps it. */
  readonly time: StepTime;
  /** The number of runs that have it. */
  runs: number;
  /** Of the run that came last; `undefined` without a run. */
  events: StepEvents | undefined;
  /** When its last run gave it back, in milliseconds since 1970-01-01 UTC. */
  idleSince: number;
  /** @default the pool's `keepAliveMs` */
  keepAliveMs: number | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether it was found, and has not answered since. */
  isUnproven: boolean;
  /** Its one restart, if it hung when it was found. */
  restarting: Promise<void> | undefined;
}

/** Makes the connection that the pool keeps. */
export type Make = (time: StepTime, events: StepEvents) => LiveConnection;

/** @param emit for what happens when no run has it */
export function newProcess(
  own: Pick<KeptProcess, "key" | "scope" | "use" | "idleSince">,
  events: StepEvents,
  make: Make,
  emit: StepEvents["emit"],
): KeptProcess {
  const time = createStepTime();
  const tell: StepEvents["emit"] = (event) => (kept.events?.emit ?? emit)(event);
  const kept: KeptProcess = {
    ...{ ...own, time, connection: make(time, { ...events, emit: tell }) },
    ...{ runs: 0, events, keepAliveMs: undefined, timer: undefined },
    ...{ isUnproven: false, restarting: undefined },
  };
  return kept;
}

/**
 * One run's use of a kept process, which other runs may use at the same time.
 *
 * @param closed waits for the processes under the same key that are being closed
 */
export function connectInRun(
  kept: KeptProcess,
  signal: AbortSignal,
  closed: () => Promise<unknown>,
  give: () => Promise<void>,
): LiveConnection {
  const { connection } = kept;
  let isOver = false;
  return {
    ...connection,
    abortSignal: signal,
    async client() {
      if (isOver) throw runOver(connection.name);
      await closed();
      return await abortable(connection.client(), signal);
    },
    async withRecovery(tool, attempt) {
      try {
        const result = await connection.withRecovery(tool, attempt);
        kept.isUnproven = false;
        return result;
      } catch (error) {
        const isHung = kept.isUnproven && (error as Partial<Error> | null)?.name === "TimeoutError";
        if (tool !== undefined || !isHung || isOver || signal.aborted) throw error;
        await (kept.restarting ??= restart(connection));
        return await attempt();
      }
    },
    // The pool closes the client, and tells of that.
    noteClosed: () => undefined,
    openings: new Set(),
    async settle() {},
    async endLooseSessions() {
      if (isOver) return;
      isOver = true;
      await give();
    },
  };
}

/** Ends a process that hangs. The next use starts another, and the model is told. */
async function restart(connection: LiveConnection): Promise<void> {
  await connection.process?.end("restart");
  connection.noteClosed("unhealthy");
  connection.noteRun();
}
