import { abortable, within, withTimeLimit } from "@durable-mcp/core/internal";
import type { ConnectionManagement } from "../connection/connection-management.ts";
import type { LiveProcess } from "../connection/live-connection.ts";
import type { StdioParts } from "./stdio-server.ts";

/** @param ask asks the running process. Rejects with the reason why it did not answer */
export function manageStdio(
  { context, life }: Pick<StdioParts, "context" | "life">,
  process: LiveProcess,
  ask: (signal: AbortSignal) => Promise<void>,
): ConnectionManagement {
  return {
    inspect() {
      const { isRunning = false, startedAt, ...details } = process.status() ?? {};
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
      if (process.status()?.isRunning !== true) return { alive: false, reason: "not-connected" };
      const signal = withTimeLimit(timeoutMs, context.abortSignal);
      try {
        await abortable(ask(signal), signal);
        return { alive: true };
      } catch {
        return { alive: false, reason: signal.aborted ? "timeout" : "unreachable" };
      }
    },
    async restart(timeoutMs) {
      if (process.status() === undefined) return { ended: true };
      const isEnded = await within(timeoutMs, process.end("restart"));
      return isEnded ? { ended: true } : { ended: false, reason: "timeout" };
    },
    // No list is kept: each listing asks the process.
    forgetTools: () => undefined,
  };
}
