import { McpSessionError } from "@durable-mcp/core";

/** Lets an owner close something when the owner ends. Returns a function that revokes this. */
export type Track = (close: () => Promise<void>) => () => void;

/** Lets owners wait, at their end, for work under way that nobody else waits for. */
export function trackWork(work: Promise<unknown>, ...tracks: readonly Track[]): void {
  const settled = work.then(
    () => undefined,
    () => undefined,
  );
  const forgets = tracks.map((track) => track(() => settled));
  void settled.then(() => forgets.forEach((forget) => forget()));
}

/** The open work of this process. It is closed when the process is about to end. */
export interface OpenWork {
  /** Lets `shutDown` close something. */
  readonly track: Track;
  readonly isShutDown: () => boolean;
  /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` after `shutDown` */
  readonly throwIfShutDown: () => void;
  /** Closes everything, in reverse order of opening. Nothing can be opened any more. */
  readonly shutDown: () => Promise<unknown>;
}

/** @param owner the start of the error's sentence: `"The connection provider was"` */
export function createOpenWork(owner: string): OpenWork {
  const open = new Set<() => Promise<void>>();
  let isShutDown = false;
  return {
    track(close) {
      // A new function for each entry, because several entries may share one `close`.
      const entry = () => close();
      open.add(entry);
      return () => void open.delete(entry);
    },
    isShutDown: () => isShutDown,
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
