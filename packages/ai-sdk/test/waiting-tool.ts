import * as ai7 from "ai";
import * as ai6 from "ai-6";
import { z } from "zod";
import { acceptWaiting, waitingModelOutput } from "../src/tool-set/model-output.ts";
import { waitingCallOf } from "@durable-mcp/core/internal";
import type { WaitingCall, WaitingResult } from "@durable-mcp/core/waiting";

/** AI SDK 6 and 7, for tests that are the same for both. Their types are compared in `*.test-d.ts`. */
export const majors = [
  { major: 6, ai: ai6 as unknown as typeof ai7 },
  { major: 7, ai: ai7 },
];

/** A tool's result while its call waits for a yes. */
export function waitingResult(id: string, call: Partial<WaitingCall> = {}): WaitingResult {
  const message = "Shall I order for 30 euros?";
  const requestedSchema = { type: "object", properties: { ok: { type: "boolean" } } } as const;
  const confirm = { method: "elicitation/create", params: { message, requestedSchema } } as const;
  const waiting: WaitingCall = {
    ...{ id, type: "question", state: "waiting", round: 1, askedAt: 1_700_000_000_000 },
    ...{ connection: "shop", server: "https://shop.test", method: "tools/call", tool: "order" },
    requests: { confirm },
    ...call,
  };
  return {
    content: [{ type: "text", text: "The call waits." }],
    _meta: { "durable-mcp/waiting": waiting },
  };
}

const orderSchema = z.object({ ordered: z.number() });

/**
 * Tools of a connection: the calls of `shop__order` wait, one after the other as `wait-1`, `wait-2`, …, and those
 * of `shop__price` do not.
 */
export function shopTools(options: Partial<ai7.Tool> = {}) {
  const calls: unknown[] = [];
  const order = ai7.tool({
    inputSchema: z.object({ item: z.string() }),
    outputSchema: acceptWaiting(orderSchema),
    execute: (input: unknown) => {
      calls.push(input);
      return waitingResult(`wait-${calls.length}`);
    },
    toModelOutput: ({ output }) =>
      waitingCallOf(output) === undefined
        ? { type: "json", value: output as { ordered: number } }
        : waitingModelOutput(output as WaitingResult),
    ...options,
  } as ai7.Tool);
  const price = ai7.tool({
    inputSchema: z.object({ item: z.string() }),
    execute: () => ({ euros: 30 }),
  } as ai7.Tool);
  return { calls, tools: { shop__order: order, shop__price: price } as ai7.ToolSet };
}
