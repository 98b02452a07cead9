import { guarded } from "@durable-mcp/core/internal";
import type { ClientCapabilities } from "@modelcontextprotocol/sdk/types.js";
import type { ServerSessionEvent } from "../base/server-event.ts";
import { fingerprint, hashSessionId } from "../base/session-id.ts";
import { adoptedInitialize, createAdoptionReport } from "./adopt-session.ts";
import { checkWrapOptions } from "./check-handler-options.ts";
import { parseClientBody } from "./client-message.ts";
import { errorAnswer, sessionNotFound } from "./http-answer.ts";
import { readBody } from "./read-body.ts";
import { checkSdkVersion } from "./sdk-version.ts";

export interface WrapFetchHandlerOptions {
  /**
   * The answer to a request whose session the handler does not know. `"adopt"`: a session of its
   * own, with a new id that the answer carries. `"reject"`: 404 with the standard body, even where
   * the handler refuses in another way, so that clients start anew.
   */
  readonly unknownSession: "reject" | "adopt";
  /** The capabilities that adopted clients are assumed to have. @default none */
  readonly adoptedCapabilities?: ClientCapabilities | undefined;
  /** Bytes of a request's body; a larger one gets 413. @default 4194304 */
  readonly maxBodyBytes?: number | undefined;
  readonly onEvent?: ((event: ServerSessionEvent) => void) | undefined;
}

export type FetchHandler = (request: Request) => Response | Promise<Response>;

/**
 * Gives an MCP server that keeps its sessions in memory a policy for unknown session ids.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function wrapFetchHandler(
  handler: FetchHandler,
  options: WrapFetchHandlerOptions,
): (request: Request) => Promise<Response> {
  checkWrapOptions(options);
  const { unknownSession, adoptedCapabilities = {}, maxBodyBytes = 4 * 1024 * 1024 } = options;
  const emit = guarded(options.onEvent);
  const report = createAdoptionReport(emit);
  checkSdkVersion(emit);

  async function adopt(request: Request, body: unknown, unknownId: string) {
    const initialize = adoptedInitialize(request, adoptedCapabilities);
    const sessionId = await startSession(handler, request, initialize);
    if (sessionId === undefined) return undefined;
    await report(unknownId, sessionId);
    const answer = await handler(withBody(request, body, sessionId));
    const headers = new Headers(answer.headers);
    headers.set("mcp-session-id", sessionId);
    return new Response(answer.body, { status: answer.status, headers });
  }

  return async (request) => {
    const sessionId = request.headers.get("mcp-session-id");
    if (sessionId === null) return await handler(request);
    const text = request.method === "POST" ? await readBody(request, maxBodyBytes) : "";
    if (text === undefined) {
      emit({ type: "refused", reason: "too-large" });
      const message = `Payload Too Large: maxBodyBytes allows ${maxBodyBytes} bytes`;
      return errorAnswer(413, -32000, message);
    }
    const copy = request.method === "POST" ? withText(request, text) : request;
    const response = await handler(copy);
    if (request.method === "DELETE" || !(await isUnknownSession(response))) return response;

    emit({ type: "unknown", session: fingerprint(await hashSessionId(sessionId)) });
    const body = parseClientBody(text);
    const isAdopted = unknownSession === "adopt" && body !== undefined && body.requests.length > 0;
    const adopted = isAdopted ? await adopt(request, body.value, sessionId) : undefined;
    return adopted ?? sessionNotFound();
  };
}

/** Initializes a session on the client's behalf. @returns its id, unless the handler refuses */
async function startSession(
  handler: FetchHandler,
  request: Request,
  params: ReturnType<typeof adoptedInitialize>,
): Promise<string | undefined> {
  const initialize = { jsonrpc: "2.0", id: "adopt", method: "initialize", params };
  const started = await handler(withBody(request, initialize));
  const sessionId = started.headers.get("mcp-session-id") ?? undefined;
  await started.text();
  if (!started.ok || sessionId === undefined) return undefined;
  const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
  const acknowledged = await handler(withBody(request, initialized, sessionId));
  await acknowledged.text();
  return acknowledged.ok ? sessionId : undefined;
}

/** 404, unless it is about a method; or a 400 that says that the session is not there. */
async function isUnknownSession(response: Response): Promise<boolean> {
  if (response.status !== 404 && response.status !== 400) return false;
  const text = await response.clone().text();
  if (response.status === 404) return !/-32601/.test(text);
  return /session|not initialized/i.test(text) && !/protocol.?version/i.test(text);
}

/** Headers that belong to the body or to the session of the client's own request. */
const ownHeaders = "content-length mcp-session-id mcp-method mcp-name last-event-id".split(" ");

function withBody(request: Request, body: unknown, sessionId?: string): Request {
  const headers = new Headers(request.headers);
  for (const name of ownHeaders) headers.delete(name);
  if (sessionId !== undefined) headers.set("mcp-session-id", sessionId);
  return new Request(request.url, { method: "POST", headers, body: JSON.stringify(body) });
}

function withText({ url, headers, signal }: Request, body: string): Request {
  return new Request(url, { method: "POST", headers, signal, body });
}
