import { isRecord } from "@durable-mcp/core/internal";
import type { OwnMessage } from "./wire.ts";

const methodNotFound = -32601;

/** Our answer to a request of the server: to a ping, and otherwise a refusal. `undefined` for any other message. */
export function answerTo(text: string): OwnMessage | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(message) || message["jsonrpc"] !== "2.0") return undefined;
  const { id, method } = message;
  if ((typeof id !== "string" && typeof id !== "number") || typeof method !== "string") {
    return undefined;
  }
  if (method === "ping") return { id, result: {} };
  return { id, error: { code: methodNotFound, message: "The probe does not answer this." } };
}
