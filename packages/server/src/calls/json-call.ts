import type { RequestId } from "../base/mcp-types.ts";
import type { Reply } from "../base/reply.ts";
import { randomName } from "../base/session-id.ts";
import type { CallHold } from "../records/replica.ts";
import type { LiveContext } from "../context/handler-context.ts";
import type { PostCall, PostCallOptions } from "./posted-call.ts";
import { forgottenAnswer } from "./repeated-posts.ts";
import { settleCall } from "./settle-call.ts";

/** Answers a POST with one JSON body. */
export function jsonCall(
  context: LiveContext,
  { requests, isBatch }: PostCallOptions,
): Omit<PostCall, "change"> {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const open = new Set(requests.map(({ id }) => id));
  const texts: string[] = [];
  const name = randomName();
  let held: CallHold | undefined;
  const settle = (requestId: RequestId, text: string) => {
    if (!open.delete(requestId)) return;
    texts.push(text);
    if (open.size > 0) return;
    held?.release();
    const headers = { "Content-Type": "application/json", "Mcp-Session-Id": context.sessionId };
    resolve({ status: 200, headers, body: isBatch ? `[${texts.join(",")}]` : text });
  };
  return {
    reply: promise,
    // The link sends them to the listening stream.
    related: () => {},
    hold: async () => {
      held ??= await context.replica.hold(name);
      if (open.size === 0) held.release();
      return { replica: context.replica.token, name, renewals: held.renewals };
    },
    rounds: async () => undefined,
    ask: async () => {},
    answer: async ({ id }, message, effects) => {
      // A client cannot come back for a JSON answer, so none is stored.
      const { text } = await settleCall(context, id, message, effects, () => ({ rows: [] }));
      settle(id, text);
    },
    cancel: (id) => {
      const error = { code: -32603, message: "The request was cancelled." };
      settle(id, JSON.stringify({ jsonrpc: "2.0", id, error }));
    },
    hangUp: () => {},
    repeat: async (onEnd) => {
      if (open.size === 0) onEnd();
      else return await promise.finally(onEnd);
      return forgottenAnswer(context, requests[0]!.id);
    },
  };
}
