import type { McpClient } from "../base/mcp-client.ts";

type Phase =
  /** No server has run yet. */
  | "fresh"
  /** No server has run yet. The one before was ended. */
  | "ended"
  /** A server runs. */
  | "running"
  /** The server ended by itself. The next use starts another. */
  | "lost"
  /** Another server runs in the place of a lost one. It has not answered a request yet. */
  | "replaced"
  /** The other server ended by itself too. The next use fails, and the one after it starts another. */
  | "lost-again";

/**
 * Follows the servers of one connection. One of them runs at a time.
 *
 * @param isAfterEnd whether the first server comes in the place of one that was ended
 */
export function createServerLife(isAfterEnd = false, now: () => number = Date.now) {
  let lastUsedAt: number | undefined;
  let phase: Phase = isAfterEnd ? "ended" : "fresh";
  let negotiated: string | undefined;
  let hasLossNotice = false;
  const isLost = () => phase === "lost" || phase === "lost-again";

  const isInPlace = () => isLost() || phase === "ended";

  return {
    isLost,
    /** Whether the next server comes in the place of another one. */
    isInPlace,
    /**
     * A server was started, connected and prepared.
     *
     * @returns whether its version or its capabilities differ from those of the server before it
     */
    opened({ initializeResult: { protocolVersion, capabilities } }: McpClient): boolean {
      hasLossNotice ||= isInPlace();
      phase = isLost() ? "replaced" : "running";
      const before = negotiated;
      negotiated = JSON.stringify([protocolVersion, capabilities]);
      return before !== undefined && before !== negotiated;
    },
    /** The time of the last answer, in milliseconds since 1970-01-01 UTC. */
    lastUsedAt: () => lastUsedAt,
    answered() {
      lastUsedAt = now();
      if (phase === "replaced") phase = "running";
      if (phase === "lost-again") phase = "lost";
    },
    /** The server ended by itself. */
    ended: () => void (phase = phase === "replaced" ? "lost-again" : "lost"),
    /** The server is ended on purpose. @param mode what it means for the next one */
    close(mode: "restart" | "end") {
      phase = mode === "restart" ? "ended" : "fresh";
      hasLossNotice &&= mode === "restart";
    },
    /** Whether the server in the place of a lost one ended before its first answer. True only once. */
    takeSecondLoss(): boolean {
      const isAgain = phase === "lost-again";
      if (isAgain) phase = "lost";
      return isAgain;
    },
    /** Whether the next result must tell of a loss. True only once. */
    takeLossNotice(): boolean {
      const hadNotice = hasLossNotice;
      hasLossNotice = false;
      return hadNotice;
    },
  };
}
