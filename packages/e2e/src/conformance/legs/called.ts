import { type AnsweredCall, waitingCallOf } from "@durable-mcp/core/waiting";
import { textOf } from "../../clients/own-client.ts";
import type { Called } from "./leg-client.ts";

/** What a client made of a call: its result, or the placeholder of one that waits. */
export function calledOf(raw: unknown): Called {
  const waiting = waitingCallOf(raw);
  return waiting ? { waiting } : { text: textOf(raw) };
}

/** What became of a call after an answer. */
export function answeredOf({ call, result }: AnsweredCall): Called {
  if (call.state === "waiting") return { waiting: call };
  if (call.state !== "settled") throw new Error(`the answered call is ${call.state}`);
  return { text: textOf(result) };
}
