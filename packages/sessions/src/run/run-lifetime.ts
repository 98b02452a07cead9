import { within } from "@durable-mcp/core/internal";
import type { Track } from "../base/open-work.ts";
import { closeConnection, type LiveConnection } from "../connection/live-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import { runOver } from "../events/connection-error.ts";

interface LifetimeOptions {
  readonly step: StepTime;
  /** How long `dispose` may take, in milliseconds: half of it waits for handshakes, if need be. */
  readonly closeTimeoutMs: number;
  /** Saves the slots, in this time, while the clients close. Never rejects. */
  readonly save?: ((timeoutMs: number) => Promise<void>) | undefined;
  /** Called once, when nothing of the run is under way any more. Never rejects. */
  readonly finish?: ((isFailed: boolean) => Promise<void>) | undefined;
  /** Called once, when all is closed and saved, or its time is up. */
  readonly onEnd?: (isFailed: boolean) => void;
  /** Lets the run's owner close the run. */
  readonly track: Track;
  /** Called for each use of a connection of the run around. */
  readonly around?: { readonly use: (connection: LiveConnection) => void };
  /** Called for the first use. It may track something with the runs inside. */
  readonly onFirstUse?: (trackInside: Track) => void;
}

/** Keeps a run's open connections, and closes them. */
export function createRunLifetime(options: LifetimeOptions) {
  const { step, closeTimeoutMs, track, around, onFirstUse } = options;
  const owned = new Set<LiveConnection>();
  const inUse = new Set<LiveConnection>();
  /** In the order of their first use. */
  const opened: Closings = new Set();
  /** The runs inside, in the order in which they began. */
  const inside: Closings = new Set();
  let isUsed = false;
  let isFailed = false;
  let disposal: Promise<void> | undefined;
  let untrack: (() => void) | undefined;

  const dispose = async () => {
    const finish = async () => await options.finish?.(isFailed);
    disposal ??= closeAll({ ...options, finish }, owned, inside, opened).finally(() => {
      options.onEnd?.(isFailed);
      untrack?.();
    });
    await disposal;
  };
  const trackIn = (closings: Closings, close: () => Promise<void>) => {
    untrack ??= track(dispose);
    closings.add(close);
    return () => void closings.delete(close);
  };
  /** Lets the run close a run inside, before its own connections. */
  const trackInside: Track = (close) => trackIn(inside, close);
  /** Lets the run that owns a connection close it, used or not. */
  const hold = (connection: LiveConnection) => {
    if (inUse.has(connection)) return;
    inUse.add(connection);
    if (!owned.has(connection)) return around?.use(connection);
    trackIn(opened, async () => {
      await closeConnection(connection, closeTimeoutMs / 2);
      connection.noteClosed("run-over");
    });
  };
  /** Notes that a connection is in use, here or in a run inside. */
  const use = (connection: LiveConnection) => {
    const isFirst = !isUsed;
    isUsed = true;
    if (isFirst) onFirstUse?.(trackInside);
    hold(connection);
  };

  // A run inside ends with the run around it, even if it has used nothing so far.
  if (around) untrack = track(dispose);
  return {
    /** Aborts when the run ends, or must end. */
    signal: step.signal,
    closeTimeoutMs,
    /** The connections that were used, here or in a run inside. */
    inUse: inUse as ReadonlySet<LiveConnection>,
    /** Whether a connection is closed with the run; others belong to a run around it. */
    owns: (connection: LiveConnection) => owned.has(connection),
    /** Makes the run the owner of a connection, which it closes if it was used. */
    own: (connection: LiveConnection) => void owned.add(connection),
    hold,
    use,
    /** Owns and uses a connection, also when the run is being closed. */
    adopt: (connection: LiveConnection) => {
      owned.add(connection);
      use(connection);
      void disposal?.then(() => closeInTurn(opened, closeTimeoutMs / 2));
    },
    trackInside,
    /** Notes that what used the run has failed. */
    noteFailure: () => void (isFailed = true),
    /** Lets the run's owner close something. */
    track,
    /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` */
    throwIfOver: (connection?: string) => {
      if (disposal !== undefined) throw runOver(connection);
    },
    dispose,
  };
}

export type RunLifetime = ReturnType<typeof createRunLifetime>;

/** All of it has one deadline. */
async function closeAll(
  { step, closeTimeoutMs, save, finish }: LifetimeOptions & { finish: () => Promise<void> },
  owned: ReadonlySet<LiveConnection>,
  inside: Closings,
  opened: Closings,
): Promise<void> {
  const deadline = performance.now() + closeTimeoutMs;
  step.end("closing");
  const openings = [...owned].flatMap((connection) => [...connection.openings]);
  const handshakes = [...owned].map((connection) => connection.settle());
  // First, because they use the connections that are closed next.
  const insideClosed = closeInTurn(inside, closeTimeoutMs);
  const settling = Promise.allSettled([...openings, ...handshakes, insideClosed]);
  await within(closeTimeoutMs / 2, settling);
  step.end("closed");
  const left = [...owned].map((connection) => connection.settle());
  // A process that stood still must save all the same.
  const leftMs = Math.max(Math.min(1_000, closeTimeoutMs / 2), deadline - performance.now());
  // This includes the connections that were opened in the meantime.
  const closed = closeInTurn(opened, leftMs);
  const finished = Promise.allSettled(left).then(finish);
  await within(leftMs, Promise.all([insideClosed, closed, finished, save?.(leftMs)]));
}

/** Each closes something that is open. */
type Closings = Set<() => Promise<void>>;

/** How long closing one waits for the one before it, in milliseconds. */
const turnMs = 1_000;

/**
 * Closes what was opened, the last one first, one after another. One that takes long does not keep
 * the next from beginning. Whatever is opened meanwhile is closed too.
 *
 * @param opened in the order in which it was opened; emptied
 * @param timeoutMs for all together, in milliseconds
 */
export async function closeInTurn(opened: Closings, timeoutMs: number): Promise<void> {
  const closing: Promise<void>[] = [];
  const closeEach = async () => {
    for (let next = [...opened].at(-1); next !== undefined; next = [...opened].at(-1)) {
      opened.delete(next);
      const closed = next();
      closing.push(closed);
      await within(turnMs, closed);
    }
    await Promise.all(closing);
  };
  await within(timeoutMs, closeEach());
}
