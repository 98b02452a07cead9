import type { JSONRPCRequest } from "@ai-sdk/mcp";
import type { SupervisedProcess } from "./supervised-process.ts";

export type PendingRequests = ReturnType<typeof createPendingRequests>;

/** The requests without an answer. This process stays alive for them. */
export function createPendingRequests(process: SupervisedProcess) {
  const pending = new Map<string, { request: JSONRPCRequest; stopWatching: () => void }>();
  const settle = (id: string | number | undefined) => {
    const found = pending.get(String(id));
    if (found === undefined) return undefined;
    found.stopWatching();
    pending.delete(String(id));
    process.hold(pending.size > 0);
    return found.request;
  };
  return {
    size: () => pending.size,
    settle,
    settleAll: () => [...pending.keys()].map((id) => settle(id)!),
    /** @param onAbort called when the client aborts the request before its answer */
    add(request: JSONRPCRequest, signal: AbortSignal | undefined, onAbort: () => void) {
      const giveUp = () => {
        settle(request.id);
        onAbort();
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      const stopWatching = () => signal?.removeEventListener("abort", giveUp);
      pending.set(String(request.id), { request, stopWatching });
      process.hold(true);
    },
  };
}
