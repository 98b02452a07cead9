import type { ClientCapabilities } from "@modelcontextprotocol/sdk/types.js";
import { adoptedClientInfo, createRepetitionCheck, revisionOf } from "./adopt-session.ts";
import { type ClientBody, parseClientBody } from "./client-message.ts";
import { errorAnswer, sessionNotFound } from "./http-answer.ts";
import { readBody } from "./read-body.ts";
import { checkSdkVersion } from "./sdk-version.ts";
import { createEmit, type ServerSessionEvent } from "../base/server-event.ts";
import { fingerprint, hashSessionId } from "../base/session-id.ts";

export interface WrapFetchHandlerOptions {
  /**
   * What a request gets whose session the handler does not know: `"adopt"`, a session of its own
   * under a new id that the answer carries; `"reject"`, 404 with the standard body, also where the
   * handler says it in another way, so that clients start anew.
   */
  readonly unknownSession: "reject" | "adopt";
  /** What adopted clients are taken to be capable of. @default nothing */
  readonly adoptedCapabilities?: ClientCapabilities | undefined;
  /** Bytes of a request's body; more gets 413. @default 4194304 */
  readonly maxBodyBytes?: number | undefined;
  readonly onEvent?: ((event: ServerSessionEvent) => void) | undefined;
}

export type FetchHandler = (request: Request) => Response | Promise<Response>;

/** Gives an MCP server that keeps its sessions in memory a policy for ids that it does not know. */
export function wrapFetchHandler(
  handler: FetchHandler,
  options: WrapFetchHandlerOptions,
): (request: Request) => Promise<Response> {
  const { unknownSession, adoptedCapabilities = {}, maxBodyBytes = 4 * 1024 * 1024 } = options;
  const emit = createEmit(options.onEvent);
  const isRepeated = createRepetitionCheck();
  checkSdkVersion(emit);

  /** Initializes a session on the client's behalf. @returns its id, unless the handler refuses */
  async function startSession(request: Request): Promise<string | undefined> {
    const protocolVersion = revisionOf(request);
    const params = {
      protocolVersion,
      capabilities: adoptedCapabilities,
      clientInfo: adoptedClientInfo,
    };
    const started = await handler(
      withBody(request, { jsonrpc: "2.0", id: "adopt", method: "initialize", params }),
    );
    const sessionId = started.headers.get("mcp-session-id") ?? undefined;
    await started.text();
    if (!started.ok || sessionId === undefined) return undefined;
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
    const acknowledged = await handler(withBody(request, initialized, sessionId));
    await acknowledged.text();
    return acknowledged.ok ? sessionId : undefined;
  }

  async function adopt(
    request: Request,
    body: ClientBody,
    unknownId: string,
  ): Promise<Response | undefined> {
    const sessionId = await startSession(request);
    if (sessionId === undefined) return undefined;
    const [unknown, session] = await Promise.all([unknownId, sessionId].map(nameOf));
    emit({ type: "adopted", unknown: unknown!, session: session!, again: isRepeated(unknown!) });
    const answer = await handler(withBody(request, body.value, sessionId));
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
      return errorAnswer(413, -32000, "Payload Too Large");
    }
    const copy = request.method === "POST" ? withText(request, text) : request;
    const response = await handler(copy);
    if (request.method === "DELETE" || !(await isUnknownSession(response))) return response;

    emit({ type: "unknown", session: await nameOf(sessionId) });
    const body = parseClientBody(text);
    const isAdopted = unknownSession === "adopt" && body !== undefined && body.requests.length > 0;
    const adopted = isAdopted ? await adopt(request, body, sessionId) : undefined;
    return adopted ?? sessionNotFound();
  };
}

async function nameOf(sessionId: string): Promise<string> {
  return fingerprint((await hashSessionId(sessionId)) ?? "");
}

/** 404, unless it is about a method; or a 400 that says that there is no such session (any more). */
async function isUnknownSession(response: Response): Promise<boolean> {
  if (response.status !== 404 && response.status !== 400) return false;
  const text = await response.clone().text();
  if (response.status === 404) return !/-32601/.test(text);
  return /session|not initialized/i.test(text) && !/protocol.?version/i.test(text);
}

function withBody(request: Request, body: unknown, sessionId?: string): Request {
  const headers = new Headers(request.headers);
  // The length is of the body that the client sent.
  for (const name of [
    "content-length",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
    "last-event-id",
  ]) {
    headers.delete(name);
  }
  if (sessionId !== undefined) headers.set("mcp-session-id", sessionId);
  return new Request(request.url, { method: "POST", headers, body: JSON.stringify(body) });
}

function withText({ url, headers, signal }: Request, body: string): Request {
  return new Request(url, { method: "POST", headers, signal, body });
}
