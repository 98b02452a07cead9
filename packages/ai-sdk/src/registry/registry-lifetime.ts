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
 * Keeps a registry's open connections, and closes them.
 *
 * @param options.track lets the registry's owner close the registry
 * @param options.around called for each use of a connection of the run around
 * @param options.onFirstUse called for the first use. It may track something with the runs inside
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
  /** In the order of their first use. */
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
  /** Lets the registry close a run inside, before its own connections. */
  const trackInside: Track = (close) => trackIn(inside, close);
  /** Lets the registry that owns a connection close it, used or not. */
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

  // A run inside ends with the run around it, even if it has used nothing so far.
  if (around) untrack = track(dispose);
  return {
    /** Aborts when the registry ends, or must end. */
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
    /** Lets the registry's owner close something. */
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
  // First, because they use the connections that are closed next.
  const insideClosed = closeInTurn({ opened: inside, timeoutMs: 2 * disposeTimeoutMs });
  const settling = Promise.allSettled([...openings, ...handshakes, insideClosed]);
  await within(disposeTimeoutMs, settling);
  step.end("closed");
  // This includes the connections that were opened in the meantime.
  const closed = closeInTurn({ opened, timeoutMs: disposeTimeoutMs });
  await within(disposeTimeoutMs, Promise.all([insideClosed, closed]));
}
