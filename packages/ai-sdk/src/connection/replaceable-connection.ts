import { McpSessionError } from "@durable-mcp/core";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { closeConnection } from "./close-connection.ts";
import { forwardConnection } from "./forward-connection.ts";
import type { LiveConnection } from "./live-connection.ts";

/** A connection behind which another can be put while runs and tools hold it. */
export interface ReplaceableConnection extends LiveConnection {
  /** Closes the one behind it. Until there is another, nothing can be done with it. */
  clear(): Promise<void>;
  /** Puts another one behind it. */
  fill(next: LiveConnection): void;
}

/** @param options.why what the error of a use says while there is none behind it */
export function createReplaceableConnection({
  first,
  why,
  emit,
}: {
  first: LiveConnection;
  why: string;
  emit: (event: ConnectionEvent) => void;
}): ReplaceableConnection {
  const { name, definition, origin, session, connectMs, abortSignal, trace } = first;
  let current: LiveConnection | undefined = first;
  let last = first;
  const inUse = (): LiveConnection => {
    if (current !== undefined) return current;
    throw new McpSessionError("CONNECTION_UNAVAILABLE", `Connection ${name}: ${why}`, {
      data: { connection: name, origin },
    });
  };

  const connection = forwardConnection(inUse, {
    // What is known, or has nothing to do, while there is none behind it.
    ...{ name, definition, origin, session, connectMs, abortSignal, trace },
    get openings() {
      return current?.openings ?? new Set();
    },
    settle: async () => await current?.settle(),
    endLooseSessions: async () => await current?.endLooseSessions(),
    restoreError: (error) => current?.restoreError(error) ?? error,
    lossNotices: first.lossNotices && {
      take: () => current?.lossNotices?.take(),
      mark: (result, toolCallId) => current?.lossNotices?.mark(result, toolCallId) ?? result,
      // A result can be told after its session was closed.
      tell: async (...result) => await last.lossNotices!.tell(...result),
    },
    createFetch(use) {
      inUse();
      let own: { of: LiveConnection; fetch: typeof globalThis.fetch } | undefined;
      // It serves one client, which needs one fetch of each connection in turn.
      return async (input, init) => {
        const of = inUse();
        if (own?.of !== of) own = { of, fetch: of.createFetch(use) };
        return await own.fetch(input, init);
      };
    },
  });
  return Object.assign(connection, {
    async clear() {
      const closing = current;
      current = undefined;
      if (closing !== undefined) await closeConnection(closing, emit);
    },
    fill(next: LiveConnection) {
      current = next;
      last = next;
    },
  });
}
