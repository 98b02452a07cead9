import type { MemoryContext } from "../session/session-context.ts";
import type { KeptResult } from "../session/session-snapshot.ts";
import type { KeptMethod } from "../session/snapshot-shape.ts";
import { type JsonRpcRequest, resultAnswer } from "../wire/json-rpc.ts";
import { rewriteRefusal } from "../wire/read-answer.ts";
import { createAfterRefusal } from "./after-refusal.ts";
import type { KeptResults } from "./kept-results.ts";
import { clientOf, keyOf, type MemoryCall, type SendRequest } from "./memory-call.ts";
import { observeResults } from "./observe-results.ts";
import { withParamHeaders } from "./param-headers.ts";

/** With these a server refuses what is not of its revision. */
const refusing: ReadonlySet<number> = new Set([400, 404, 405]);

/**
 * Answers requests of revisions without sessions from what is kept, and keeps what the server allows. If the
 * server refuses the headers or the revision of a request that was made with kept results, they are asked for
 * again, and the request goes out once more.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
export function createModernMemory(
  context: MemoryContext,
  results: KeptResults,
  send: SendRequest,
): (call: MemoryCall) => Promise<Response> {
  /** Methods with results that clients of this process got, and go on with. */
  const served = new Set<KeptMethod>();
  const observe = (response: Response, message: JsonRpcRequest, since?: number) => {
    const key = keyOf(message, clientOf(message));
    return observeResults(context, results, response, message, { key, since });
  };
  const refusals = createAfterRefusal(context, results, { send, observe });

  return async (call) => {
    const { message, request } = call;
    const client = clientOf(message);
    const key = keyOf(message, client);
    const kept = key && results.find(key);
    if (kept) {
      request.signal?.throwIfAborted();
      served.add(kept.method);
      return resultAnswer(message.id, resultOf(kept, context.now()));
    }
    const tools = results.tools(client);
    const basis = refusals.basis(client, tools.length > 0 || served.has("tools/list"));
    const isBuiltOnKept = served.size > 0 || results.any(client);
    const own = withParamHeaders(request, message, tools);
    const since = results.evictions;
    const response = await (own === request ? call.pass() : send(own));
    const isRefused = refusing.has(response.status) && message.method !== "server/discover";
    if (!isRefused || !isBuiltOnKept) return observe(response, message, since);
    let text = "";
    const refused = await rewriteRefusal(response, (read) => (text = read));
    const again = await refusals.renew(call, basis, text);
    return observe(again ? await send(again) : refused, message);
  };
}

/** The result with what is left of its time. */
function resultOf({ result, until }: KeptResult, now: number): Record<string, unknown> {
  const { ttlMs } = result;
  return typeof ttlMs === "number" ? { ...result, ttlMs: Math.min(ttlMs, until - now) } : result;
}
