import { McpSessionError } from "@durable-mcp/core";
import { closeConnection, type LiveConnection } from "./live-connection.ts";

/** A front for a connection that can be replaced while runs and tools hold the front. */
export type ReplaceableConnection = ReturnType<typeof createReplaceableConnection>;

const followed = ["inConnectTime", "client", "withKept", "withRecovery", "probe", "ask"] as const;

/**
 * A connection that forwards to another one, which may change between two uses. Tools that are bound to
 * this connection follow. The values are the same for all connections in turn.
 *
 * @param why the reason in the error of a use while there is no connection behind it
 */
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

  const connection: LiveConnection = {
    ...first,
    ...follow(followed, inUse),
    process: first.process && {
      status: () => current?.process?.status(),
      end: async (mode) => await current?.process?.end(mode),
    },
    // Tools keep the notices of the time of their listing.
    lossNotices: first.lossNotices && {
      take: () => current?.lossNotices?.take(),
      mark: (result, toolCallId) => current?.lossNotices?.mark(result, toolCallId) ?? result,
      // A result can be told after its session was closed.
      tell: async (...result) => await last.lossNotices!.tell(...result),
    },
    pausing: first.pausing && followAll(first.pausing, () => inUse().pausing!),
    toolNow: first.toolNow && ((tool) => inUse().toolNow!(tool)),
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
    restoreError: (error, request) => current?.restoreError(error, request) ?? error,
    credentials: () => last.credentials(),
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
  };
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

/** Asynchronous methods, each called on the object of the time. */
function follow<PART extends object, NAME extends keyof PART>(
  names: readonly NAME[],
  current: () => PART,
): Pick<PART, NAME> {
  const entries = names.map((name) => {
    const call = async (...args: unknown[]): Promise<unknown> =>
      await (current()[name] as (...own: unknown[]) => unknown)(...args);
    return [name, call] as const;
  });
  return Object.fromEntries(entries) as Pick<PART, NAME>;
}

function followAll<PART extends object>(first: PART, current: () => PART): PART {
  return follow(Object.keys(first) as (keyof PART)[], current);
}
