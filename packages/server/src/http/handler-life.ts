import { wait, checkKnown } from "@durable-mcp/core/internal";
import type { HandlerContext } from "../context/handler-context.ts";
import type { SessionDirectory } from "../live/session-directory.ts";
import type { StatelessServer } from "../stateless/stateless-server.ts";

/** Options of `drain`. */
export interface DrainOptions {
  /** How long to wait for calls in flight, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
}

/** A handler serves, then drains, then is closed. */
export function createHandlerLife(
  { replica }: HandlerContext,
  { pool }: SessionDirectory,
  stateless: StatelessServer | undefined,
) {
  const draining = new AbortController();
  const unanswered = { count: 0 };
  const uses = () => pool.uses + (stateless?.uses ?? 0) + unanswered.count;
  let phase: "serving" | "draining" | "closed" = "serving";
  return {
    get phase() {
      return phase;
    },
    /** Aborts when the drain begins. */
    draining: draining.signal,
    /** Serves a request, which a drain waits for even before the request has reached a session. */
    track: async <T>(serve: () => Promise<T>): Promise<T> => {
      unanswered.count += 1;
      try {
        return await serve();
      } finally {
        unanswered.count -= 1;
      }
    },
    drain: async (options: DrainOptions = {}): Promise<void> => {
      checkKnown(options, { timeoutMs: "ms" });
      const { timeoutMs = 10_000 } = options;
      if (phase === "serving") phase = "draining";
      draining.abort();
      const deadline = Date.now() + timeoutMs;
      while (uses() > 0 && Date.now() < deadline) await wait(20);
      phase = "closed";
      await Promise.all([pool.closeAll(), stateless?.close()]);
      // The store has emitted its failure; a lease that is not given back runs out.
      await replica.leave().catch(() => {});
    },
  };
}

export type HandlerLife = ReturnType<typeof createHandlerLife>;
