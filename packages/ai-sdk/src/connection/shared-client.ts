import type { MCPClient } from "@ai-sdk/mcp";
import type { LiveConnection } from "./live-connection.ts";

/** The one client that all users of a connection share. */
export interface SharedClient {
  /** Connects on first use. A failure is not kept. */
  readonly get: () => Promise<MCPClient>;
  /** Whether the next use need not connect. */
  readonly isBegun: () => boolean;
  /** Has the next use connect another. The one before stays open until the connection is closed. */
  readonly replace: () => void;
  readonly openings: LiveConnection["openings"];
}

/** @param connect is told how to say that its client is gone, and need not be closed */
export function createSharedClient(
  connect: (gone: () => void) => Promise<MCPClient>,
): SharedClient {
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
    get: () => (current ??= open()),
    isBegun: () => current !== undefined,
    replace: () => (current = undefined),
    openings,
  };
}
