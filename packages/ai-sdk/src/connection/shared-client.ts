import type { MCPClient } from "@ai-sdk/mcp";
import type { LiveConnection } from "./live-connection.ts";

/**
 * The one client that all users of a connection share.
 *
 * @param connect calls `gone` when its client is gone and need not be closed
 */
export function createSharedClient(connect: (gone: () => void) => Promise<MCPClient>) {
  const openings: LiveConnection["openings"] = new Set();
  let current: Promise<MCPClient> | undefined;

  const open = () => {
    const gone = () => {
      openings.delete(opening);
      if (current === opening) current = undefined;
    };
    const opening = connect(gone).catch((error: unknown) => {
      gone();
      throw error;
    });
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
    replace: () => void (current = undefined),
    openings,
  };
}

export type SharedClient = ReturnType<typeof createSharedClient>;
