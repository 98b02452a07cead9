import { abortable } from "../base/bounded-wait.ts";
import { isRecord } from "../base/json-values.ts";
import { randomToken } from "../base/random-token.ts";
import type { KeptMethod } from "../session/snapshot-shape.ts";
import type { ToolDefinition } from "../session/session-snapshot.ts";
import { listPages } from "../tools/list-pages.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import { letGo, readAnswer } from "../wire/read-answer.ts";
import { answerOrReason } from "../wire/server-endpoint.ts";
import { type MemoryCall, ownParams, type SendRequest } from "./memory-call.ts";

/** Asks the server in a client's place, because it refused what was made with kept results. */
export interface AskAgain {
  readonly call: MemoryCall;
  readonly send: SendRequest;
  /** Keeps what may be kept of the answer. */
  readonly observe: (response: Response, message: JsonRpcRequest) => Response;
  readonly signal: AbortSignal;
}

/** All tools, in the order of their pages. */
export async function listToolsAgain(by: AskAgain): Promise<ToolDefinition[]> {
  const pages = await listPages("tools/list", (cursor) => askAgain(by, "tools/list", cursor));
  return pages.flatMap(({ tools }: { tools?: unknown }) =>
    Array.isArray(tools) ? (tools.filter(isRecord) as ToolDefinition[]) : [],
  );
}

/** @throws if there is no result */
export async function askAgain(
  { call, send, observe, signal }: AskAgain,
  method: KeptMethod,
  cursor?: string,
): Promise<Record<string, unknown>> {
  const id = randomToken();
  const params = ownParams(call.message, cursor);
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
