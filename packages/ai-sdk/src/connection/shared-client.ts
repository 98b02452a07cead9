import type { MCPClient } from "@ai-sdk/mcp";
import type { ConnectionState } from "./connection-management.ts";
import type { LiveConnection } from "./live-connection.ts";

/**
 * The one client that all users of a connection share.
 *
 * @param connect calls `gone` when its client is gone and need not be closed
 */
export function createSharedClient(
  connect: (gone: () => void) => Promise<MCPClient>,
  now: () => number,
) {
  const openings: LiveConnection["openings"] = new Set();
  let current: Promise<MCPClient> | undefined;
  let opened: MCPClient | undefined;
  let since: number | undefined;

  const note = () => void (since ??= now());
  const open = () => {
    const gone = () => {
      openings.delete(opening);
      if (current === opening) current = undefined;
      if (openings.size === 0) since = undefined;
    };
    const connecting = async () => {
      try {
        opened = await connect(gone);
        note();
        return opened;
      } catch (error) {
        gone();
        throw error;
      }
    };
    const opening: Promise<MCPClient> = connecting();
    openings.add(opening);
    return opening;
  };

  return {
    /** Connects on first use. A failure is not kept. */
    get: () => (current ??= open()),
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
    /** Notes that another client is opened, which is closed with the connection. */
    async noting<T>(opening: Promise<T>): Promise<T> {
      const other = await opening;
      note();
      return other;
    },
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
