import { McpSessionError } from "@durable-mcp/core";
import { closeConnection, type LiveConnection } from "./live-connection.ts";

/**
 * A connection that forwards to another one. The other one may change between two uses, and tools that
 * are bound to this connection follow.
 *
 * @param own the members that it does not forward
 */
export function forwardConnection(
  current: () => LiveConnection,
  own: Partial<LiveConnection>,
): LiveConnection {
  const first = current();
  const forwarded: LiveConnection = {
    // The values are the same for all connections in turn. The functions follow.
    ...first,
    process: first.process && {
      status: () => current().process!.status(),
      end: async (mode) => await current().process!.end(mode),
    },
    // Tools keep the notices of the time of their listing.
    lossNotices: first.lossNotices && {
      take: () => current().lossNotices!.take(),
      mark: (...result) => current().lossNotices!.mark(...result),
      tell: async (...result) => await current().lossNotices!.tell(...result),
    },
    pausing: first.pausing && {
      read: async (id) => await current().pausing!.read(id),
      list: async () => await current().pausing!.list(),
      answer: async (...answer) => await current().pausing!.answer(...answer),
      show: async (...shown) => await current().pausing!.show(...shown),
    },
    toolNow: first.toolNow && ((tool) => current().toolNow!(tool)),
    inConnectTime: (signal, work) => current().inConnectTime(signal, work),
    createFetch: (use) => current().createFetch(use),
    client: async () => await current().client(),
    withKept: async (open) => await current().withKept(open),
    withRecovery: async (tool, attempt) => await current().withRecovery(tool, attempt),
    probe: async (signal) => await current().probe(signal),
    ask: async (signal) => await current().ask(signal),
    renew: () => current().renew(),
    noteRun: () => current().noteRun(),
    noteClosed: (reason) => current().noteClosed(reason),
    settle: async () => await current().settle(),
    endLooseSessions: async () => await current().endLooseSessions(),
    manage: {
      inspect: () => current().manage.inspect(),
      check: async (timeoutMs) => await current().manage.check(timeoutMs),
      restart: async (timeoutMs) => await current().manage.restart(timeoutMs),
      forgetTools: () => current().manage.forgetTools(),
    },
    restoreError: (error, request) => current().restoreError(error, request),
    credentials: () => current().credentials(),
  };
  return Object.defineProperties(forwarded, Object.getOwnPropertyDescriptors(own));
}

/** A front for a connection that can be replaced while runs and tools hold the front. */
export type ReplaceableConnection = ReturnType<typeof createReplaceableConnection>;

/** @param why the reason in the error of a use while there is no connection behind it */
export function createReplaceableConnection(first: LiveConnection, why: string) {
  const { name, origin } = first;
  let current: LiveConnection | undefined = first;
  let last = first;
  const inUse = (): LiveConnection => {
    if (current !== undefined) return current;
    throw new McpSessionError("CONNECTION_UNAVAILABLE", `Connection ${name}: ${why}`, {
      data: { connection: name, origin },
    });
  };

  const connection = forwardConnection(inUse, {
    // Members that work while there is no connection behind it.
    get manage() {
      return last.manage;
    },
    get openings() {
      return current?.openings ?? new Set();
    },
    settle: async () => await current?.settle(),
    endLooseSessions: async () => await current?.endLooseSessions(),
    noteRun: () => current?.noteRun(),
    noteClosed: (reason) => current?.noteClosed(reason),
    process: first.process && {
      status: () => current?.process?.status(),
      end: async (mode) => await current?.process?.end(mode),
    },
    restoreError: (error, request) => current?.restoreError(error, request) ?? error,
    credentials: () => last.credentials(),
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
    /** Closes the connection behind it. Every use fails until there is another. */
    async clear() {
      const closing = current;
      current = undefined;
      if (closing === undefined) return;
      await closeConnection(closing);
      closing.noteClosed("stale");
    },
    /** Puts another connection behind it. */
    fill: (next: LiveConnection) => void (current = last = next),
  });
}
