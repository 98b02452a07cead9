import { setTimeout as wait } from "node:timers/promises";
import type { SessionStore } from "@durable-mcp/core";
import { createFaultyStore, type StoreAct } from "../faulty-store.ts";
import { describeRequest, type McpRequest, parseMessage } from "../message.ts";

/**
 * Where a step can be stopped.
 *
 * - `before-send`: the request is about to be sent, and the server never hears of it.
 * - `after-send`: the server has the request, and the step has nothing of the answer.
 * - `during-answer`: the step has half of the answer.
 * - `after-answer`: the whole answer is there, and the step has done nothing with it.
 * - `…-load`, `…-save`, `…-delete`: at a `get` or `getMany`, a `put` or `batch`, a `delete` of the store that the step watches.
 *   `during-…`: it is on its way, and perhaps done.
 */
export type StepPoint =
  | "before-send"
  | "after-send"
  | "during-answer"
  | "after-answer"
  | `${"before" | "during" | "after"}-${"load" | "save" | "delete"}`;

/** The request or store operation at which a step is stopped. */
export interface StopPlan {
  readonly at: StepPoint;
  /** For requests: a JSON-RPC method, a tool, or the end of a URL's path. @default "tools/call" */
  readonly on?: string | undefined;
  /** Which one: 1 for the first. @default 1 */
  readonly nth?: number | undefined;
}

/** A request of a step. */
export interface SentRequest extends McpRequest {
  /** Origin and path. */
  readonly url: string;
}

/** @param stop what happens to the step at the point of its plan; it goes on when that resolves */
export function createStepPoints(stop: () => Promise<void>) {
  const sent: SentRequest[] = [];
  const counts = new Map<string, number>();
  let plan: StopPlan | undefined;

  const count = (what: string) => {
    const number = (counts.get(what) ?? 0) + 1;
    counts.set(what, number);
    return number;
  };
  const reach = async (here: StepPoint, number: number) => {
    if (plan?.at !== here || (plan.nth ?? 1) !== number) return;
    plan = undefined;
    await stop();
  };

  const watching =
    (name: "load" | "save" | "delete"): StoreAct =>
    async (operate) => {
      const number = count(name);
      await reach(`before-${name}`, number);
      const working = operate();
      await reach(`during-${name}`, number);
      const result = await working;
      await reach(`after-${name}`, number);
      return result;
    };

  return {
    sent,
    stopAt: (next: StopPlan) => void (plan = next),
    /** The same fetch, with points, whose requests are counted. */
    watchFetch:
      (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
      async (input, init) => {
        const request = await describe(input, init);
        sent.push(request);
        const { on = "tools/call" } = plan ?? {};
        const isMeant = request.rpcMethod === on || request.tool === on || request.url.endsWith(on);
        const number = isMeant ? count(`send ${on}`) : 0;
        await reach("before-send", number);
        const sending = fetch(input, init);
        // A server that answers late, or never, has it by then, on a busy machine too.
        if (isMeant && plan?.at === "after-send")
          await Promise.race([sending, wait(2_000, undefined, { ref: false })]);
        await reach("after-send", number);
        const response = await sending;
        request.status = response.status;
        if (!isMeant || !plan?.at.endsWith("-answer") || response.body === null) return response;
        const bytes = await response.bytes();
        await reach("after-answer", number);
        const half = Math.ceil(bytes.length / 2);
        const body = new ReadableStream<Uint8Array>({
          async start(stream) {
            stream.enqueue(bytes.subarray(0, half));
            await reach("during-answer", number);
            if (half < bytes.length) stream.enqueue(bytes.subarray(half));
            stream.close();
          },
        });
        return new Response(body, response);
      },
    /** The same store, with points. */
    watchStore: (store: SessionStore): SessionStore => {
      const { store: watched, meet } = createFaultyStore(store);
      meet("get", watching("load"));
      meet("getMany", watching("load"));
      meet("put", watching("save"));
      meet("batch", watching("save"));
      meet("delete", watching("delete"));
      return watched;
    },
  };
}

async function describe(
  input: Parameters<typeof fetch>[0],
  init: RequestInit = {},
): Promise<SentRequest> {
  const request = input instanceof Request ? input : undefined;
  const { origin, pathname } = new URL(input instanceof Request ? input.url : input);
  const body = init.body ?? (await request?.clone().text());
  const httpMethod = (init.method ?? request?.method ?? "GET").toUpperCase();
  const described = describeRequest(httpMethod, parseMessage(typeof body === "string" ? body : ""));
  return { url: origin + pathname, ...described };
}
