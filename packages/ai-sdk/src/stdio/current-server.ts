import { abortable, within, withTimeLimit } from "@durable-mcp/core/internal";
import type {
  ConnectionManagement,
  LiveProcess,
  ProcessStatus,
} from "../connection/live-connection.ts";
import { closeServers, type OpenServer, type StdioParts } from "./stdio-server.ts";

/**
 * The server that runs now.
 *
 * @param forgetClient makes the next use start another
 * @param ask asks the running process. Rejects with the reason why it did not answer
 */
export function createCurrentServer(
  { options, context, life, servers, errors, now, emit }: StdioParts,
  forgetClient: () => void,
  ask: (signal: AbortSignal) => Promise<void>,
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
  const management: ConnectionManagement = {
    inspect() {
      const { isRunning = false, startedAt, ...details } = status() ?? {};
      const lastUsedAt = life.lastUsedAt();
      return {
        connected: isRunning,
        ...(isRunning && startedAt !== undefined && { connectedSince: startedAt }),
        ...details,
        ...(lastUsedAt !== undefined && { lastUsedAt }),
        ...(life.isLost() && { kind: "lost" as const }),
      };
    },
    async check(timeoutMs) {
      if (life.isLost()) return { alive: false, reason: "lost" };
      if (status()?.isRunning !== true) return { alive: false, reason: "not-connected" };
      const signal = withTimeLimit(timeoutMs, context.abortSignal);
      try {
        await abortable(ask(signal), signal);
        return { alive: true };
      } catch {
        return { alive: false, reason: signal.aborted ? "timeout" : "unreachable" };
      }
    },
    async restart(timeoutMs) {
      if (status() === undefined) return { ended: true };
      const isEnded = await within(timeoutMs, end("restart"));
      return isEnded ? { ended: true } : { ended: false, reason: "timeout" };
    },
    // No list is kept: each listing asks the process.
    forgetTools: () => undefined,
  };
  return {
    process: { status, end } satisfies LiveProcess,
    management,
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
