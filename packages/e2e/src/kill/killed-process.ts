import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import type { StorePlace } from "../durable/store-place.ts";

/** What a process that is going to be killed is told. */
export type KilledTask<POINT extends string, TASK extends object> = TASK & {
  readonly place: StorePlace;
  readonly point: POINT;
  /** Whether it is stopped at its point instead, and goes on later. */
  readonly isFrozen: boolean;
};

/** Says that the process is at a point; at the point of its task it goes no further. */
export type At = (here: string) => Promise<void>;

/** What it says: that it has loaded its code, and that it is at its point. */
export type KilledReport = { readonly type: "ready" | "reached" };

/**
 * Says that this process is ready, and waits for its task. With `at` the process says that it is at a point; at the
 * point of its task it goes no further, so that it can be killed there, or it stops itself.
 */
export async function receiveTask(): Promise<{ task: KilledTask<string, object>; at: At }> {
  const { promise, resolve } = Promise.withResolvers<KilledTask<string, object>>();
  process.once("message", resolve);
  report("ready");
  const task = await promise;
  let isPast = false;
  // What it comes to find done by others is refused clearly.
  if (task.isFrozen) {
    process.once("uncaughtException", (error) => {
      console.error(error);
      process.exit(McpSessionError.isInstance(error) ? 0 : 1);
    });
  }
  const at = async (here: string) => {
    if (here !== task.point || isPast) return;
    isPast = task.isFrozen;
    report("reached");
    if (task.isFrozen) {
      process.kill(process.pid, "SIGSTOP");
      return;
    }
    // Something has to keep a process that only waits.
    setInterval(() => {}, 60_000);
    await new Promise(() => {});
  };
  return { task, at };
}

function report(type: KilledReport["type"]): void {
  process.send!({ type });
}

/**
 * A store that says where it is, and goes on when `at` resolves. "during" is an operation on its way, and perhaps
 * there. Operations of a name count from 1.
 */
export function stopAtStore(
  store: SessionStore,
  at: (
    when: "before" | "during" | "after",
    operation: "get" | "put" | "delete",
    number: number,
  ) => Promise<void>,
): SessionStore {
  const stopping = <ARGS extends unknown[], RESULT>(
    operation: "get" | "put" | "delete",
    operate: (...args: ARGS) => Promise<RESULT>,
  ) => {
    let number = 0;
    return async (...args: ARGS) => {
      number += 1;
      const own = number;
      await at("before", operation, own);
      const working = operate(...args);
      await at("during", operation, own);
      const result = await working;
      await at("after", operation, own);
      return result;
    };
  };
  return {
    ...store,
    get: stopping("get", (...args: Parameters<SessionStore["get"]>) => store.get(...args)),
    put: stopping("put", (...args: Parameters<SessionStore["put"]>) => store.put(...args)),
    delete: stopping("delete", (...args: Parameters<SessionStore["delete"]>) =>
      store.delete(...args),
    ),
  };
}

/** A fetch that says where it is with a request that `isMeant`. After "sent" the server has it, and perhaps answers. */
export function stopAtFetch(
  isMeant: (request: { readonly url: string; readonly body: string }) => boolean,
  at: (when: "sent" | "answered") => Promise<void>,
): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const sending = fetch(input, init);
    if (!isMeant({ url, body: textOf(init?.body) })) return await sending;
    await Promise.race([sending, new Promise((done) => setTimeout(done, 10))]);
    await at("sent");
    const response = await sending;
    await at("answered");
    return response;
  };
}

function textOf(body: RequestInit["body"]): string {
  return typeof body === "string" || body instanceof URLSearchParams ? String(body) : "";
}
