import { isRecord } from "../base/json-values.ts";
import {
  isRequest,
  type JsonRpcRequest,
  type JsonRpcResponse,
  parseMessage,
} from "../wire/json-rpc.ts";
import { editAnswer } from "../wire/read-answer.ts";
import { taskMade } from "./session-errors.ts";
import { deliverFailure, type SessionSlot, slotState } from "./session-slot.ts";
import type { SlotState } from "./slot-state.ts";

/** Whether a result stands for a task: of 2026-07-28, or of 2025-11-25, where it is no tool's own. */
function isTask(result: unknown): boolean {
  const { resultType, task, content = [] } = isRecord(result) ? result : {};
  const isOld = isRecord(task) && "taskId" in task && (content as unknown[] | null)?.length === 0;
  return resultType === "task" || isOld;
}

/** The answer to a request; for a task that its client does not follow, the error that says so. */
export function withoutTask(
  { state, url }: { readonly state: SlotState; readonly url: URL },
  message: JsonRpcResponse,
  { id, method, params = {} }: JsonRpcRequest,
): JsonRpcResponse {
  if (method !== "tools/call" || !isTask(message.result)) return message;
  const declared = JSON.stringify(params["_meta"] ?? {}).includes(
    '"io.modelcontextprotocol/tasks"',
  );
  if (params["task"] !== undefined || declared) return message;
  return JSON.parse(deliverFailure(state, id, taskMade({ method, url }))) as JsonRpcResponse;
}

/** A message with a task is shorter, in characters. */
const maxLength = 16_384;

/**
 * The fetch without tasks in the answers to requests without a session.
 *
 * @param slot delivers the errors
 * @param isBounding whether the messages of all answers are bounded too. @default those of calls
 */
export function refusingTasks(
  fetch: typeof globalThis.fetch,
  url: URL,
  slot: SessionSlot,
  isBounding = false,
): typeof globalThis.fetch {
  const delivery = { url, state: slotState(slot) };
  return async (input, init) => {
    const response = await fetch(input, init);
    const { body } = init ?? {};
    // The session's answers are read for more than that.
    const isOfSession = delivery.state.phase.name === "live";
    const isCall = !isOfSession && typeof body === "string" && body.includes("tools/call");
    const request = isCall ? parseMessage(body) : undefined;
    if (request === undefined || !isRequest(request)) {
      return isBounding ? editAnswer(response) : response;
    }
    return editAnswer(response, (text) => {
      const message = text.length <= maxLength ? parseMessage(text) : undefined;
      if (message === undefined || "method" in message || message.id !== request.id) return text;
      const own = withoutTask(delivery, message, request);
      return own === message ? text : JSON.stringify(own);
    });
  };
}
