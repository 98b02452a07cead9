import { McpSessionError } from "@durable-mcp/core";
import { closeConnection } from "./close-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { LiveConnection } from "./live-connection.ts";

/** A connection behind which another can be put while runs and tools hold it. */
export interface ReplaceableConnection extends LiveConnection {
  /** Closes the one behind it. Until there is another, nothing can be done with it. */
  clear(): Promise<void>;
  /** Puts another one behind it. */
  fill(next: LiveConnection): void;
}

/**
 * @param options.why what is said of a use while there is none
 */
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
  return {
    name,
    definition,
    origin,
    session,
    connectMs,
    abortSignal,
    createFetch() {
      inUse();
      let own: { of: LiveConnection; fetch: typeof globalThis.fetch } | undefined;
      // For one client: of each connection behind it one fetch.
      return async (input, init) => {
        const connection = inUse();
        if (own?.of !== connection) own = { of: connection, fetch: connection.createFetch() };
        return await own.fetch(input, init);
      };
    },
    client: async () => await inUse().client(),
    probe: async (signal) => await inUse().probe(signal),
    get openings() {
      return current?.openings ?? new Set();
    },
    async settle() {
      await current?.settle();
    },
    async endLooseSessions() {
      await current?.endLooseSessions();
    },
    lossNotices: first.lossNotices && {
      take: () => current?.lossNotices?.take(),
      mark: (result, toolCallId) => current?.lossNotices?.mark(result, toolCallId) ?? result,
      // Of a result that is there already, also when its session was closed meanwhile.
      tell: async (...result) => await last.lossNotices!.tell(...result),
    },
    async withRecovery(tool, attempt) {
      return await (inUse().withRecovery?.(tool, attempt) ?? attempt());
    },
    async withKept(open) {
      return await (inUse().withKept?.(open) ?? open(inUse()));
    },
    trace,
    restoreError: (error) => current?.restoreError(error) ?? error,
    async clear() {
      const closing = current;
      current = undefined;
      if (closing !== undefined) await closeConnection(closing, emit);
    },
    fill(next) {
      current = next;
      last = next;
    },
  };
}
