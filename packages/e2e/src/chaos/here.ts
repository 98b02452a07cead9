import type { SessionStore } from "@durable-mcp/core";
import { createFaultyStore } from "@durable-mcp/testing";
import { carryOut } from "./application.ts";
import type { Outcome, Processes } from "./chat-life.ts";
import { createPoints, type Fault } from "./points.ts";

/** How long a command may take, in milliseconds. */
export const commandMs = 30_000;

/**
 * Commands in this process, of which the faults of all together are counted. What is killed goes no further, also when
 * a time limit of it runs out: none of its operations come back, and none begin.
 */
export function createProcessesHere(
  store: SessionStore,
  fault?: Fault,
): Processes & { readonly log: readonly string[] } {
  let command = beginCommand();
  const points = createPoints(fault, async () => {
    command.die();
    await never();
  });
  const atEnd = (outcome: Outcome): Outcome =>
    points.dies() ? { type: "killed", isAtEnd: true } : outcome;
  const { onOpen } = points;
  const faulty = { store: points.store(store), fetch: points.fetch };
  return {
    log: points.log,
    async carryOut({ use, command: given, aheadMs }) {
      const own = beginCommand();
      command = own;
      const parts = { ...own.partsOf(faulty), onOpen };
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, commandMs)));
      const outcome = await Promise.race([
        carryOut(use, given, { ...parts, aheadMs }).then(
          (result) => atEnd({ type: "done", result }),
          (error: Error) => atEnd({ type: "failed", error: String(error) }),
        ),
        own.died.then((): Outcome => ({ type: "killed" })),
        late.then(() => ({ type: "hung" }) as const),
      ]);
      clearTimeout(timer);
      return outcome;
    },
    disturb: async () => undefined,
    thaw: async () => undefined,
  };
}

const never = () => new Promise<never>(() => undefined);

/** A command, which may die. */
function beginCommand() {
  const { promise: died, resolve } = Promise.withResolvers<void>();
  let isDead = false;
  return {
    died,
    die() {
      isDead = true;
      resolve();
    },
    /** A store and a fetch that only work while it lives. */
    partsOf(given: { readonly store: SessionStore; readonly fetch: typeof globalThis.fetch }) {
      const own = createFaultyStore(given.store);
      own.meet("*", async (operate) => await (isDead ? never() : operate()));
      const send: typeof globalThis.fetch = async (...request) =>
        await (isDead ? never() : given.fetch(...request));
      return { store: own.store, fetch: send };
    },
  };
}
