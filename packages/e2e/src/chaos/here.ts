import type { SessionStore } from "@durable-mcp/core";
import { carryOut } from "./application.ts";
import type { Outcome, Processes } from "./chat-life.ts";
import { createPoints, type Fault } from "./points.ts";

/** How long a command may take, in milliseconds. */
export const commandMs = 30_000;

/**
 * Commands in this process, of which the faults of all together are counted. What is killed goes no further: none of its
 * operations come back.
 */
export function createProcessesHere(
  store: SessionStore,
  fault?: Fault,
): Processes & { readonly log: readonly string[] } {
  let killed = Promise.withResolvers<void>();
  const points = createPoints(fault, async () => {
    killed.resolve();
    await new Promise(() => undefined);
  });
  const atEnd = (outcome: Outcome): Outcome =>
    points.dies() ? { type: "killed", isAtEnd: true } : outcome;
  const parts = { store: points.store(store), fetch: points.fetch, onOpen: points.onOpen };
  return {
    log: points.log,
    async carryOut({ use, command, aheadMs }) {
      killed = Promise.withResolvers();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, commandMs)));
      const outcome = await Promise.race([
        carryOut(use, command, { ...parts, aheadMs }).then(
          (result) => atEnd({ type: "done", result }),
          (error: Error) => atEnd({ type: "failed", error: String(error) }),
        ),
        killed.promise.then((): Outcome => ({ type: "killed" })),
        late.then(() => ({ type: "hung" }) as const),
      ]);
      clearTimeout(timer);
      return outcome;
    },
    disturb: async () => undefined,
    thaw: async () => undefined,
  };
}
