import type { EmitServerEvent } from "../base/server-event.ts";

type Callback = () => void | Promise<void>;

/** What an author's code wants done when a server has closed in this process. */
export function createCloseCallbacks(emit: EmitServerEvent) {
  const callbacks: Callback[] = [];
  let hasRun = false;

  async function runOne(callback: Callback): Promise<void> {
    try {
      await callback();
    } catch (error) {
      emit({ type: "failed", error });
    }
  }

  /** Runs each once, in their order. One that throws is an event, and stops no other. */
  async function run(): Promise<void> {
    hasRun = true;
    for (const callback of callbacks.splice(0)) await runOne(callback);
  }

  return {
    add: (callback: Callback): void => {
      // It came too late: what it would release is released at once.
      if (hasRun) void runOne(callback);
      else callbacks.push(callback);
    },
    run,
    /** Runs them if `build` fails: then there will be no server to close. */
    unlessItFails: async <T>(build: () => Promise<T>): Promise<T> => {
      try {
        return await build();
      } catch (error) {
        await run();
        throw error;
      }
    },
  };
}
