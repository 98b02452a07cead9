import type { LiveProcess, ProcessStatus } from "../connection/live-connection.ts";
import { closeServers, type OpenServer, type StdioParts } from "./stdio-server.ts";

/**
 * The server that runs now.
 *
 * @param forgetClient makes the next use start another
 */
export function createCurrentServer(
  { options, context, life, servers, errors, now, emit }: StdioParts,
  forgetClient: () => void,
) {
  const { maxAgeMs = Infinity } = options.session ?? {};
  let current: (OpenServer & { readonly startedAt: number }) | undefined;
  let endings = 0;

  const status = (): ProcessStatus | undefined => {
    if (life.isInPlace()) return { isRunning: false };
    if (current === undefined || current.server.isClosed) return undefined;
    const { startedAt, client } = current;
    const { protocolVersion, serverInfo } = client.initializeResult;
    const { name, version } = serverInfo;
    return { isRunning: true, startedAt, protocolVersion, server: { name, version } };
  };
  const end: LiveProcess["end"] = async (mode) => {
    endings += 1;
    life.close(mode);
    forgetClient();
    await closeServers(servers);
  };
  return {
    process: { status, end } satisfies LiveProcess,
    /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if the process was ended meanwhile */
    async open(start: () => Promise<OpenServer>): Promise<OpenServer> {
      const before = endings;
      const opened = await start();
      if (before !== endings) {
        void opened.server.close();
        throw errors.unavailable("was ended while it started. The next use starts another.");
      }
      current = { ...opened, startedAt: now() };
      return opened;
    },
    /** Ends the process if it is older than `session.maxAgeMs` and no request is under way. */
    endIfOld(): Promise<void> | undefined {
      const { isRunning, startedAt = 0 } = status() ?? {};
      if (!isRunning || now() - startedAt < maxAgeMs || current!.server.isBusy()) return undefined;
      emit({ type: "discarded", connection: context.connection, reason: "age" });
      return end("restart");
    },
  };
}
