import { McpSessionError } from "@durable-mcp/core";

/** Has something closed with what it belongs to; returns how to forget it. */
export type Track = (close: () => Promise<void>) => () => void;

/** What is open in this process, and is closed when the process is about to end. */
export interface OpenWork {
  /** Has something closed by `shutDown`. */
  readonly track: Track;
  /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` after `shutDown` */
  readonly throwIfShutDown: () => void;
  /** Closes all that is open, the last one opened first. Nothing can be opened any more. */
  readonly shutDown: () => Promise<unknown>;
}

/** @param owner what was shut down, in the error's words: `"The connection provider was"` */
export function createOpenWork(owner: string): OpenWork {
  const open = new Set<() => Promise<void>>();
  let isShutDown = false;
  return {
    track(close) {
      // An entry of its own, whatever else is closed by the same function.
      const entry = () => close();
      open.add(entry);
      return () => void open.delete(entry);
    },
    throwIfShutDown() {
      if (!isShutDown) return;
      throw new McpSessionError(
        "CONNECTION_UNAVAILABLE",
        `${owner} shut down. Take no new work in a process that is about to end.`,
      );
    },
    async shutDown() {
      isShutDown = true;
      return await Promise.allSettled([...open].toReversed().map((close) => close()));
    },
  };
}
