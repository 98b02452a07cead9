import { timeLimited } from "../base/bounded-wait.ts";
import { isRecord } from "../base/json-values.ts";
import type { KeptMethod, KeptResult } from "../session/kept-result.ts";
import type { ToolDefinition } from "../session/session-snapshot.ts";
import { type JsonRpcRequest, parseMessage, resultAnswer } from "../wire/json-rpc.ts";
import { rewriteRefusal } from "../wire/read-answer.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";
import { askAgain, listToolsAgain } from "./ask-again.ts";
import type { KeptResults } from "./kept-results.ts";
import { clientOf, keyOf, type MemoryCall, revisionOf, type SendRequest } from "./memory-call.ts";
import type { MemoryContext } from "./memory-context.ts";
import { observeResults } from "./observe-results.ts";
import { paramHeaders } from "./param-headers.ts";
import { createRenewal } from "./renewal.ts";

/** The server refuses the headers of a request, or its revision. It has not processed it. */
const headerMismatch = -32_020;
const unsupportedVersion = -32_022;

/** Asking again takes no longer, in milliseconds. */
const renewalMs = 10_000;

/** What a call was made with. */
interface CallBasis {
  readonly client: string;
  readonly knowsTools: boolean;
  /** How often the revision and the tools had been asked for again. */
  readonly renewed: readonly [number, number];
}

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
  const revisions = createRenewal<boolean>();
  const toolLists = createRenewal<ToolDefinition[]>();
  /** Methods with results that clients of this process got, and go on with. */
  const served = new Set<KeptMethod>();

  const observe = (response: Response, message: JsonRpcRequest) =>
    observeResults(context, results, response, message, keyOf(message, clientOf(message)));

  const askRevision = (call: MemoryCall, since: number) =>
    revisions.run(
      since,
      (signal) =>
        timeLimited(renewalMs, signal, async (limited) => {
          const by = { call, send, observe, signal: limited };
          const { supportedVersions } = await askAgain(by, "server/discover");
          if (includes(supportedVersions, revisionOf(call.message))) return true;
          throw new Error("The server does not speak the revision.");
        }),
      call.request.signal,
    );
  const askTools = (call: MemoryCall, since: number) =>
    toolLists.run(
      since,
      (signal) =>
        timeLimited(renewalMs, signal, (limited) =>
          listToolsAgain({ call, send, observe, signal: limited }),
        ),
      call.request.signal,
    );

  const evict = (isRefused: (result: KeptResult) => boolean) => {
    if (results.evict(isRefused)) context.emit({ type: "discarded", reason: "refused" });
  };

  /** The request as it may go out again; `undefined` if the refusal stays. */
  const renewed = async (
    call: MemoryCall,
    { client, knowsTools, renewed: [revisionsBefore, toolsBefore] }: CallBasis,
    refusal: string,
  ): Promise<OutgoingRequest | undefined> => {
    const { message, request } = call;
    const { code, data } = errorOf(refusal);
    if (code === unsupportedVersion) {
      if (revisions.count === revisionsBefore) evict((result) => result.client === client);
      const supported = isRecord(data) ? data["supported"] : undefined;
      if (Array.isArray(supported) && !includes(supported, revisionOf(message))) return undefined;
      if (!(await askRevision(call, revisionsBefore))) return undefined;
    } else if (code !== headerMismatch || !knowsTools) {
      return undefined;
    } else if (toolLists.count === toolsBefore) {
      evict((result) => result.client === client && result.method === "tools/list");
    }
    if (message.method !== "tools/call" || !knowsTools) return request;
    const tools = await askTools(call, toolsBefore);
    return tools && withParams(without(request, /^mcp-param-/), message, tools);
  };

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
    const basis: CallBasis = {
      client,
      knowsTools: tools.length > 0 || served.has("tools/list"),
      renewed: [revisions.count, toolLists.count],
    };
    const isBuiltOnKept = served.size > 0 || results.any(client);
    const own = withParams(request, message, tools);
    const response = await (own === request ? call.pass() : send(own));
    const isRefused = response.status === 400 && message.method !== "server/discover";
    if (!isRefused || !isBuiltOnKept) return observe(response, message);
    let text = "";
    const refused = await rewriteRefusal(response, (read) => (text = read));
    const again = await renewed(call, basis, text);
    return again ? observe(await send(again), message) : observe(refused, message);
  };
}

/** The result with what is left of its time. */
function resultOf({ result, until }: KeptResult, now: number): Record<string, unknown> {
  const { ttlMs } = result;
  return typeof ttlMs === "number" ? { ...result, ttlMs: Math.min(ttlMs, until - now) } : result;
}

/** A `tools/call` with the headers that the tool's definition asks for, as far as the client has not set them. */
function withParams(
  request: OutgoingRequest,
  { method, params = {} }: JsonRpcRequest,
  tools: readonly ToolDefinition[],
): OutgoingRequest {
  const tool = method === "tools/call" && tools.find(({ name }) => name === params["name"]);
  const named = tool ? [...paramHeaders(tool.inputSchema, params["arguments"])] : [];
  const missing = named.filter(([name]) => !request.headers.has(name));
  if (missing.length === 0) return request;
  return { ...request, headers: new Headers([...request.headers, ...missing]) };
}

function without(request: OutgoingRequest, names: RegExp): OutgoingRequest {
  const headers = new Headers([...request.headers].filter(([name]) => !names.test(name)));
  return { ...request, headers };
}

function errorOf(refusal: string): { readonly code?: unknown; readonly data?: unknown } {
  const message = parseMessage(refusal);
  return (message && "error" in message && message.error) || {};
}

function includes(list: unknown, value: unknown): boolean {
  return Array.isArray(list) && list.includes(value);
}
