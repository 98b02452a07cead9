import { within } from "@durable-mcp/core/internal";
import type { Track } from "../base/open-work.ts";
import { closeConnection } from "../connection/close-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import { registryDisposed } from "../errors/connection-error.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { type Closable, closeInTurn } from "./close-in-turn.ts";

/** How long `dispose` waits for handshakes, and then for the clients to close, in milliseconds. */
const disposeTimeoutMs = 5_000;

/**
 * What one registry has open, and how it is closed.
 *
 * @param options.track has the registry closed with what it belongs to
 * @param options.around told of uses of connections that belong to the run around
 * @param options.onFirstUse told of the first use; may have something closed with the runs inside
 */
export function createRegistryLifetime({
  step,
  emit,
  track,
  around,
  onFirstUse,
}: {
  step: StepTime;
  emit: (event: ConnectionEvent) => void;
  track: Track;
  around?: { readonly use: (connection: LiveConnection) => void } | undefined;
  onFirstUse?: ((trackInside: Track) => void) | undefined;
}) {
  const owned = new Set<LiveConnection>();
  const inUse = new Set<LiveConnection>();
  /** In the order in which they were used first. */
  const opened = new Set<Closable>();
  /** The runs inside, in the order in which they began. */
  const inside = new Set<Closable>();
  let isUsed = false;
  let disposal: Promise<void> | undefined;
  let untrack: (() => void) | undefined;

  const dispose = async () => {
    disposal ??= closeAll({ step, owned, inside, opened }).then(() => untrack?.());
    await disposal;
  };
  const trackIn = (closables: Set<Closable>, close: () => Promise<void>) => {
    untrack ??= track(dispose);
    const closable = { close };
    closables.add(closable);
    return () => void closables.delete(closable);
  };
  /** Has a run inside closed with the registry, before its connections. */
  const trackInside: Track = (close) => trackIn(inside, close);
  /** Has a connection that the registry owns closed, used or not. */
  const hold = (connection: LiveConnection) => {
    if (inUse.has(connection)) return;
    inUse.add(connection);
    if (owned.has(connection)) trackIn(opened, () => closeConnection(connection, emit));
    else around?.use(connection);
  };
  /** Notes that a connection is in use, here or in a run inside. */
  const use = (connection: LiveConnection) => {
    const isFirst = !isUsed;
    isUsed = true;
    if (isFirst) onFirstUse?.(trackInside);
    hold(connection);
  };

  // A run inside ends with what is around it, even if it has used nothing so far.
  if (around) untrack = track(dispose);
  return {
    /** Aborts when the registry is to end, and when it has. */
    signal: step.signal,
    /** The connections that were used, here or in a run inside. */
    inUse: inUse as ReadonlySet<LiveConnection>,
    /** Whether a connection is closed with the registry; others belong to a run around it. */
    owns: (connection: LiveConnection) => owned.has(connection),
    /** Makes the registry the owner of a connection, which it closes if it was used. */
    own: (connection: LiveConnection) => void owned.add(connection),
    hold,
    use,
    /** Owns and uses a connection, also when the registry is being closed. */
    adopt: (connection: LiveConnection) => {
      owned.add(connection);
      use(connection);
      void disposal?.then(() => closeInTurn({ opened, timeoutMs: disposeTimeoutMs }));
    },
    trackInside,
    /** Has something closed with what the registry belongs to. */
    track,
    /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` */
    throwIfOver: (connection?: string) => {
      if (disposal !== undefined) throw registryDisposed(connection);
    },
    dispose,
  };
}

export type RegistryLifetime = ReturnType<typeof createRegistryLifetime>;

async function closeAll({
  step,
  owned,
  inside,
  opened,
}: {
  step: StepTime;
  owned: ReadonlySet<LiveConnection>;
  inside: Set<Closable>;
  opened: Set<Closable>;
}): Promise<void> {
  step.end("closing");
  const openings = [...owned].flatMap((connection) => [...connection.openings]);
  const handshakes = [...owned].map((connection) => connection.settle());
  // First, since they use what is closed next.
  const insideClosed = closeInTurn({ opened: inside, timeoutMs: 2 * disposeTimeoutMs });
  const settling = Promise.allSettled([...openings, ...handshakes, insideClosed]);
  await within(disposeTimeoutMs, settling);
  step.end("closed");
  // Those, too, that were opened in the meantime.
  const closed = closeInTurn({ opened, timeoutMs: disposeTimeoutMs });
  await within(disposeTimeoutMs, Promise.all([insideClosed, closed]));
}
