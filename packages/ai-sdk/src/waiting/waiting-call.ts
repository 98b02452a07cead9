import type { InputRequests } from "@durable-mcp/core/waiting";
import { ownField } from "../base/own-field.ts";

/** What an application sees of a call that waits. */
export interface WaitingCall {
  readonly id: string;
  readonly kind: "input";
  readonly state: "waiting" | "answering" | "settled" | "expired" | "outcome-unknown" | "withdrawn";
  readonly connection: string;
  readonly server: string;
  readonly method: "tools/call" | "resources/read" | "prompts/get";
  readonly tool: string;
  readonly toolCallId?: string;
  readonly round: number;
  readonly requests: InputRequests;
  readonly askedAt: number;
  readonly expiresAt?: number;
}

const metaKey = "durable-mcp/waiting";

/** The result of a tool while its call waits. */
export interface WaitingResult {
  readonly content: readonly [{ readonly type: "text"; readonly text: string }];
  readonly _meta: { readonly [metaKey]: WaitingCall };
}

/** The call for which a tool's result is the placeholder. */
export function waitingCallOf(value: unknown): WaitingCall | undefined {
  const call = ownField(ownField(value, "_meta"), metaKey);
  const id = ownField(call, "id");
  return typeof id === "string" && id !== "" ? (call as WaitingCall) : undefined;
}
