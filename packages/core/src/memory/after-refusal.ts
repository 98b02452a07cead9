import { abortable, timeLimited } from "../base/bounded-wait.ts";
import { randomToken } from "../base/random-token.ts";
import { isRecord } from "../base/json-values.ts";
import { createSharedTask } from "../base/shared-task.ts";
import { refusesRevision } from "../session/lost-session.ts";
import type { MemoryContext } from "../session/session-context.ts";
import type { KeptResult, ToolDefinition } from "../session/session-snapshot.ts";
import type { KeptMethod } from "../session/snapshot-shape.ts";
import { listPages } from "../tools/list-pages.ts";
import { type JsonRpcRequest, parseMessage, revisionIn } from "../wire/json-rpc.ts";
import { letGo, readAnswer } from "../wire/read-answer.ts";
import { answerOrReason, type OutgoingRequest } from "../wire/server-endpoint.ts";
import { type KeptResults, metaOf } from "./kept-results.ts";
import { withNewParamHeaders } from "./param-headers.ts";

/** A client's POST to the server. */
export interface MemoryCall {
  readonly message: JsonRpcRequest;
  readonly request: OutgoingRequest;
  /** Sends it as the client gave it. */
  readonly pass: () => Promise<Response>;
}

/** Sends a request that is not as the client gave it. */
export type SendRequest = (request: OutgoingRequest) => Promise<Response>;

/** The server refuses the headers of a request, or its revision, and has not processed it. */
const headerMismatch = -32_020;
const unsupportedVersion = -32_022;

/** Asking again takes no longer, in milliseconds. */
const renewalMs = 10_000;

/** @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#client-behavior */
export function createAfterRefusal(
  context: MemoryContext,
  results: KeptResults,
  way: Pick<AskAgain, "send" | "observe">,
) {
  const revisions = createRenewal(way, async (by) => {
    const { supportedVersions } = await askAgain(by, "server/discover");
    return Array.isArray(supportedVersions) ? supportedVersions : [];
  });
  const toolLists = createRenewal(way, (by) => listToolsAgain(by, context));
  const basis = (client: string, knowsTools: boolean) => ({
    ...{ client, knowsTools, revisions: revisions.count, toolLists: toolLists.count },
  });
  const evict = (isRefused: (result: KeptResult) => boolean) => {
    if (results.evict(isRefused)) context.emit({ type: "discarded", reason: "refused" });
  };

  return {
    /** What a request was made with, and how often the revision and the tools had been asked for again. */
    basis,
    /**
     * Evicts what the server refused, and asks for it again.
     *
     * @returns the request as it may go out once more; `undefined` if the refusal stays
     */
    async renew(
      call: MemoryCall,
      { client, knowsTools, ...since }: ReturnType<typeof basis>,
      refusal: string,
    ): Promise<OutgoingRequest | undefined> {
      const { message, request } = call;
      const { code, data } = errorOf(refusal);
      const isCall = message.method === "tools/call";
      const revision = revisionIn(message);
      if (code === unsupportedVersion) {
        if (revisions.count === since.revisions) evict((result) => result.client === client);
        const supported = isRecord(data) ? data["supported"] : undefined;
        if (Array.isArray(supported) && !supported.includes(revision)) return undefined;
        const spoken = await revisions.run(since.revisions, call);
        if (!spoken?.includes(revision)) return undefined;
        if (!isCall || !knowsTools) return request;
      } else if (code !== headerMismatch) {
        if (refusesRevision({ status: 400, body: refusal }))
          evict((result) => result.client === client);
        return undefined;
      } else if (!isCall || !knowsTools) {
        return undefined;
      } else if (toolLists.count === since.toolLists) {
        evict((result) => result.client === client && result.method === "tools/list");
      }
      const tools = await toolLists.run(since.toolLists, call);
      return tools && withNewParamHeaders(request, message, tools);
    },
  };
}

function errorOf(refusal: string): { readonly code?: unknown; readonly data?: unknown } {
  const message = parseMessage(refusal);
  return (message && "error" in message && message.error) || {};
}

/** Asks the server again, once for all requests that it refused. */
function createRenewal<T>(
  way: Pick<AskAgain, "send" | "observe">,
  ask: (by: AskAgain) => Promise<T>,
) {
  const task = createSharedTask<T | undefined>();
  let last: T | undefined;
  let count = 0;
  return {
    /** How often it has been asked. */
    get count() {
      return count;
    },
    /**
     * Gives the answer; `undefined` if there was none.
     *
     * @param since the count when the refused request was sent. If it was asked since, it is not again
     */
    async run(since: number, call: MemoryCall): Promise<T | undefined> {
      if (count > since) return last;
      return await task(async (shared) => {
        const renewed = await timeLimited(renewalMs, shared, (signal) =>
          ask({ ...way, call, signal }),
        ).catch(() => undefined);
        shared.throwIfAborted();
        last = renewed;
        count += 1;
        return renewed;
      }, call.request.signal);
    },
  };
}

/** Asks the server in a client's place, because it refused what was made with kept results. */
interface AskAgain {
  readonly call: MemoryCall;
  readonly send: SendRequest;
  /** Keeps what may be kept of the answer. */
  readonly observe: (response: Response, message: JsonRpcRequest) => Response;
  readonly signal: AbortSignal;
}

/** All tools, in the order of their pages. */
async function listToolsAgain(by: AskAgain, { emit }: MemoryContext): Promise<ToolDefinition[]> {
  const method = "tools/list";
  const pages = await listPages(
    (cursor) => askAgain(by, method, cursor),
    () => emit({ type: "list-cut", method }),
  );
  return pages.flatMap(({ tools }: { tools?: unknown }) =>
    Array.isArray(tools) ? (tools.filter(isRecord) as ToolDefinition[]) : [],
  );
}

/** @throws if there is no result */
async function askAgain(
  { call, send, observe, signal }: AskAgain,
  method: KeptMethod,
  cursor?: string,
): Promise<Record<string, unknown>> {
  const id = randomToken();
  const { progressToken: _, ..._meta } = metaOf(call.message);
  const params = { ...(cursor !== undefined && { cursor }), _meta };
  const message: JsonRpcRequest = { jsonrpc: "2.0", id, method, params };
  const { request } = call;
  const headers = new Headers([...request.headers].filter(([name]) => !ofTool.test(name)));
  headers.set("mcp-method", method);
  const own = { ...request, headers, body: JSON.stringify(message), signal };
  const response = await answerOrReason(send(own), signal);
  const answer = response.ok
    ? await abortable(readAnswer(observe(response, message), id), signal)
    : undefined;
  if (answer?.result !== undefined) return answer.result;
  letGo(response);
  throw new Error(`The server did not answer ${method}.`);
}

/** The headers of one call. */
const ofTool = /^mcp-(?:name|param-.*)$/;
