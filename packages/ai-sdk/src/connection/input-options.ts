import type { WaitingLimits } from "@durable-mcp/core/waiting";
import * as z from "zod/mini";
import { age, names, someFunction } from "../base/check-options.ts";

/** How a connection's calls wait for a person. */
export interface PausingInput extends WaitingLimits {
  /** Lets calls wait for a person. Required. */
  readonly mode: "pause";
}

export interface InputOptions {
  /**
   * What a call does when its server asks the user something (revision 2026-07-28). `"pause"`: the call waits in
   * the store, beyond the step, and its tool gives a placeholder. Any process answers later. It needs durable
   * sessions, or state with a `claim`. Not with `session: "stateful"` or `onElicitation`.
   * @default `onElicitation` answers within the step; without it the call fails
   */
  readonly input?: "pause" | PausingInput | undefined;
}

export const inputSchema = z.union(
  [
    z.literal("pause"),
    z.strictObject({
      mode: z.literal("pause", 'is missing: give mode: "pause"'),
      maxAgeMs: z.optional(age),
      onExpired: z.optional(z.literal(["fail", "ask-again"], 'must be "fail" or "ask-again"')),
      safeTools: z.optional(names),
      onWaiting: z.optional(someFunction),
    }),
  ],
  'must be "pause" or { mode: "pause", … } with known options',
);

/** How calls wait, if the connection's calls do; `undefined` for any other connection. */
export function pausingInput(options: InputOptions): WaitingLimits | undefined {
  const { input } = options;
  if (input === undefined) return undefined;
  if (input === "pause") return {};
  const { mode: _, ...limits } = input;
  return limits;
}
