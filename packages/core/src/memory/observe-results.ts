import type { MemoryContext } from "../session/session-context.ts";
import type { KeptMethod } from "../session/snapshot-shape.ts";
import { reportsUnknownTool } from "../tools/compare-tools.ts";
import type { JsonRpcMessage, JsonRpcRequest } from "../wire/json-rpc.ts";
import type { KeptResults, ResultKey } from "./kept-results.ts";
import { observeAnswer } from "./observe-answer.ts";

/** The field of a result that makes it one of its method. */
const lists: Readonly<Partial<Record<KeptMethod, string>>> = {
  "server/discover": "supportedVersions",
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
};

/** The lists that a notification makes invalid. */
const changedBy: ReadonlyMap<string, readonly KeptMethod[]> = new Map([
  ["notifications/tools/list_changed", ["tools/list"]],
  ["notifications/prompts/list_changed", ["prompts/list"]],
  ["notifications/resources/list_changed", ["resources/list", "resources/templates/list"]],
]);

interface Observation {
  /** Of a result that may be kept. */
  readonly key?: ResultKey | undefined;
  /** The evictions when the request was sent. A result from before another one is not kept. */
  readonly since?: number | undefined;
}

/** Reads the results to keep in an answer, and what the server says about those that are kept. */
export function observeResults(
  context: MemoryContext,
  results: KeptResults,
  response: Response,
  request: JsonRpcRequest,
  { key, since = results.evictions }: Observation,
): Response {
  const { method, params } = request;
  const evict = (methods: readonly KeptMethod[]) =>
    results.evict((result) => methods.includes(result.method));
  const forgetTools = (reason: "list-changed" | "unknown-tool") => {
    if (evict(["tools/list"])) context.emit({ type: "tools-changed", reason });
  };
  const forgetPages = () => key?.cursor !== undefined && evict([key.method]);

  const observe = (message: JsonRpcMessage | undefined, length: number) => {
    if (message === undefined) return key && keepResult(context, results, key, undefined, length);
    if ("method" in message) {
      const changed = changedBy.get(message.method);
      if (changed === undefined) return;
      return changed.includes("tools/list") ? forgetTools("list-changed") : evict(changed);
    }
    if (message.id !== request.id) return;
    if (key !== undefined) {
      if (message.result === undefined) return forgetPages();
      const isOutdated = results.evictions > since;
      if (!response.redirected && !isOutdated)
        keepResult(context, results, key, message.result, length);
    } else if (method === "tools/call" && reportsUnknownTool(message, params?.["name"])) {
      forgetTools("unknown-tool");
    }
  };

  if (response.status === 400) forgetPages();
  const mayTell = key !== undefined || method === "subscriptions/listen" || results.any();
  return response.ok && mayTell ? observeAnswer(response, observe) : response;
}

function keepResult(
  { pinMs }: MemoryContext,
  results: KeptResults,
  { method, client, cursor }: ResultKey,
  result: Record<string, unknown> | undefined,
  length: number,
): void {
  const { resultType = "complete", cacheScope, ...fields } = result ?? {};
  const field = fields[lists[method] ?? ""];
  if (result && (resultType !== "complete" || !Array.isArray(field))) return;
  const allowedMs = fields["ttlMs"];
  const isAllowed = Number.isSafeInteger(allowedMs) && (allowedMs as number) > 0;
  // Of a result that was not read, nobody knows how long it may be kept.
  const forMs = pinMs ?? (isAllowed ? (allowedMs as number) : result ? 0 : 1);
  const scope = cacheScope === "public" ? "public" : "private";
  results.keep({ method, client, cursor, result: result ?? {}, scope }, forMs, length);
}
