import type { MCPClient } from "@ai-sdk/mcp";

type Phase =
  /** None has run yet. */
  | "fresh"
  /** One runs. */
  | "running"
  /** It ended by itself, with what it held; the next use starts another. */
  | "lost"
  /** Another runs in the place of a lost one, and has not answered anything yet. */
  | "replaced"
  /** That one ended too. The next use is told so, once, before another is started. */
  | "lost-again";

/** What becomes of the servers of one connection, of which one runs at a time. */
export function createServerLife() {
  let phase: Phase = "fresh";
  let negotiated: string | undefined;
  let hasLossNotice = false;
  const isLost = () => phase === "lost" || phase === "lost-again";

  return {
    isLost,
    /**
     * One was started, connected and prepared.
     *
     * @returns whether it has another version or other capabilities than the one before
     */
    opened({ initializeResult: { protocolVersion, capabilities } }: MCPClient): boolean {
      const isRecovered = isLost();
      phase = isRecovered ? "replaced" : "running";
      hasLossNotice ||= isRecovered;
      const before = negotiated;
      negotiated = JSON.stringify([protocolVersion, capabilities]);
      return before !== undefined && before !== negotiated;
    },
    answered() {
      if (phase === "replaced") phase = "running";
      if (phase === "lost-again") phase = "lost";
    },
    /** It ended, and nobody had asked it to. */
    ended: () => void (phase = phase === "replaced" ? "lost-again" : "lost"),
    /** Whether the one in the place of a lost one ended before it had answered; says so once. */
    takeSecondLoss(): boolean {
      const isAgain = phase === "lost-again";
      if (isAgain) phase = "lost";
      return isAgain;
    },
    /** Whether results have to tell of a loss; says so once. */
    takeLossNotice(): boolean {
      const hadNotice = hasLossNotice;
      hasLossNotice = false;
      return hadNotice;
    },
  };
}
