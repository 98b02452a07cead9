import type { ClientClosedReason } from "../events/connection-event.ts";
import type { NotingClient } from "./call-envelope.ts";
import type { ConnectionState, ConnectionStep, LiveConnection } from "./live-connection.ts";

/**
 * The one client that all users of a connection share.
 *
 * @param connect calls `gone` when its client is gone and need not be closed
 */
export function createSharedClient(
  { context: { connection }, emit, now }: Pick<ConnectionStep, "context" | "emit" | "now">,
  connect: (gone: () => void) => Promise<NotingClient>,
) {
  const openings: LiveConnection["openings"] = new Set();
  let current: Promise<NotingClient> | undefined;
  let opened: NotingClient | undefined;
  /** The opening that has made it. */
  let opener: Promise<NotingClient> | undefined;
  let since: number | undefined;
  const told = createClientEvents(connection, emit);

  const open = () => {
    const gone = () => {
      openings.delete(opening);
      if (current === opening) current = undefined;
      if (openings.size === 0) since = undefined;
    };
    const connecting = async () => {
      try {
        opened = await connect(gone);
        opener = opening;
        since ??= now();
        return opened;
      } catch (error) {
        gone();
        throw error;
      }
    };
    const opening: Promise<NotingClient> = connecting();
    openings.add(opening);
    return opening;
  };
  return {
    /** The client, if it is connected, and users were told so. */
    live: () => (current !== undefined && current === opener && told.isOpen() ? opened : undefined),
    /** Connects on first use. A failure is not kept. */
    get: () => told.opening(() => (current ??= open())),
    /** Whether the next use need not connect. */
    isBegun: () => current !== undefined,
    /**
     * Makes the next use connect another client. The current one stays open until the connection is
     * closed.
     */
    replace() {
      current = undefined;
      since = undefined;
    },
    openings,
    noteRun: told.noteRun,
    noteClosed: told.noteClosed,
    inspect(): ConnectionState {
      if (since === undefined) return { connected: false };
      const { protocolVersion, serverInfo } = opened?.initializeResult ?? {};
      return {
        connected: true,
        connectedSince: since,
        ...(protocolVersion !== undefined && { protocolVersion }),
        ...(serverInfo && { server: { name: serverInfo.name, version: serverInfo.version } }),
      };
    },
  };
}

export type SharedClient = ReturnType<typeof createSharedClient>;

/** Tells whether the runs that use a connection found a live client, and when its client was opened and closed. */
function createClientEvents(connection: string, emit: ConnectionStep["emit"]) {
  let told: "nothing" | "wanted" | "open" | "failed" = "nothing";
  const miss = () => {
    told = "wanted";
    emit({ type: "client", connection, action: "miss" });
  };
  const opening = async <T>(begin: () => Promise<T>): Promise<T> => {
    if (told === "nothing") miss();
    try {
      const begun = await begin();
      if (told !== "open") emit({ type: "client", connection, action: "opened" });
      told = "open";
      return begun;
    } catch (error) {
      if (told === "wanted") told = "failed";
      throw error;
    }
  };

  return {
    opening,
    isOpen: () => told === "open",
    /** Notes that another run uses the connection. */
    noteRun: () => {
      if (told === "nothing" || told === "failed") return miss();
      emit({ type: "client", connection, action: "hit" });
    },
    /** Notes that the connection was closed. */
    noteClosed: (reason: ClientClosedReason) => {
      if (told === "open") emit({ type: "client", connection, action: "closed", reason });
      told = "nothing";
    },
  };
}
