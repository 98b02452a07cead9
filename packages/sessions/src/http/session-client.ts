/**
 * A client of a session that an earlier step has made. The session fetch knows its handshake, its tools and its ids: a
 * request is one message and one answer, and nothing of a framework's client is loaded for it.
 */

import {
  anySignal,
  isRecord,
  type JsonRpcMessage,
  LATEST_SESSION_VERSION,
  letGo,
  randomToken,
  readAnswer,
  readRefusal,
} from "@durable-mcp/core/internal";
import type { CallToolResult, ClientConfig, ClientOpener, McpClient } from "../base/mcp-client.ts";

interface SessionClientParts {
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
  readonly createError: NonNullable<ClientOpener["createError"]>;
}

/**
 * Connects a client through a session fetch whose slot has a session: the fetch answers the handshake, and hears what
 * this client declares, for the session that may replace a lost one.
 */
export async function connectSessionClient(
  parts: SessionClientParts,
  { clientName: name, version, capabilities, signal }: Omit<ClientConfig, "transport">,
): Promise<McpClient> {
  const closing = new AbortController();
  let protocolVersion = LATEST_SESSION_VERSION;
  const post = async (body: object, of?: AbortSignal) =>
    await parts.fetch(parts.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": protocolVersion,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
      ...(of && { signal: of }),
    });
  const request = async (
    method: string,
    params: object | undefined,
    { signal: of }: { readonly signal?: AbortSignal | undefined } = {},
  ) => await sendRequest({ ...parts, post }, { method, params }, closing.signal, of);

  const description = { protocolVersion, capabilities, clientInfo: { name, version } };
  const initializeResult = (await request("initialize", description, {
    signal,
  })) as never as McpClient["initializeResult"] & Pick<McpClient, "instructions">;
  ({ protocolVersion } = initializeResult);
  const told = await post({ method: "notifications/initialized" }, signal);
  if (!told.ok) throw new RefusedRequest(told.status, await readRefusal(told));
  const { instructions } = initializeResult;
  return {
    initializeResult,
    ...(instructions !== undefined && { instructions }),
    async listTools({ params, options } = {}) {
      const result = await request("tools/list", params, options);
      if (Array.isArray(result["tools"])) return result as never;
      throw await unreadable(parts);
    },
    async callTool({ name: tool, arguments: args, options }) {
      const result = await request("tools/call", { name: tool, arguments: args }, options);
      const read = readToolResult(result);
      if (read === undefined) throw await unreadable(parts);
      return read;
    },
    readResource: async ({ uri, options }) => await request("resources/read", { uri }, options),
    close() {
      closing.abort(new Error(closed));
      return Promise.resolve();
    },
  };
}

const closed = "Connection closed";

interface SendingParts extends SessionClientParts {
  readonly post: (body: object, signal?: AbortSignal) => Promise<Response>;
}

/** @returns the result @throws the server's JSON-RPC error, as a client of the framework has it */
async function sendRequest(
  { post, createError }: SendingParts,
  message: { readonly method: string; readonly params: object | undefined },
  closing: AbortSignal,
  callers: AbortSignal | undefined,
): Promise<Record<string, unknown>> {
  const id = randomToken();
  const answerServer = (asked: JsonRpcMessage) => {
    if (!("id" in asked) || !("method" in asked)) return;
    const { id: of, method } = asked;
    // In the words of the framework's client: tools pass them on to the model.
    const isQuestion = method === "elicitation/create";
    const words = isQuestion
      ? "No elicitation handler registered on client"
      : `Unsupported request method: ${method}`;
    const refused = { error: { code: -32_601, message: words } };
    // Whether it arrives is the server's affair.
    post({ id: of, ...(method === "ping" ? { result: {} } : refused) }).then(
      letGo,
      () => undefined,
    );
  };
  const signal = anySignal(callers, closing);
  try {
    signal.throwIfAborted();
    const response = await post({ id, ...message }, signal);
    const { ok, status, headers } = response;
    const type = headers.get("content-type") ?? "none";
    if (!ok) throw new RefusedRequest(status, await readRefusal(response));
    if (!/^(?:application\/json|text\/event-stream)\b/i.test(type))
      throw new RefusedRequest(status, "", `Unexpected content type: ${type}`);
    const answer = await readAnswer(response, id, answerServer);
    if (answer?.error) throw await createError({ ...answer.error, cause: answer.error });
    if (isRecord(answer?.result)) return answer.result;
  } catch (error) {
    if (closing.aborted) throw await createError({ message: closed });
    if (!callers?.aborted) throw error;
    throw await createError({ message: "Request was aborted", cause: callers.reason as unknown });
  }
  throw await unreadable({ createError });
}

/** Has the fields of a client's error. */
export class RefusedRequest extends Error {
  readonly statusCode: number;
  readonly responseBody: string;

  constructor(statusCode: number, responseBody: string, message = `HTTP ${statusCode}`) {
    super(message);
    this.statusCode = statusCode;
    this.responseBody = responseBody;
  }
}

const unreadable = async ({ createError }: Pick<SessionClientParts, "createError">) =>
  await createError({ message: "Failed to parse server response" });

/** The result of a call, checked as far as its readers rely on it. One of structured content alone gets it as text, too. */
function readToolResult(result: Record<string, unknown>): CallToolResult | undefined {
  const { content, structuredContent, isError = false } = result;
  if (typeof isError !== "boolean") return undefined;
  if (Array.isArray(content) && content.every(isContent)) return { ...result, content, isError };
  if (content === undefined && structuredContent !== undefined) {
    const text = JSON.stringify(structuredContent);
    return { ...result, isError, content: [{ type: "text", text }] };
  }
  // Of servers of 2024-10-07.
  return "toolResult" in result ? result : undefined;
}

/** The members that blocks of a type have, all of them texts. */
const members: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  resource_link: ["uri", "name"],
};

function isContent(block: unknown): boolean {
  if (!isRecord(block) || typeof block["type"] !== "string") return false;
  const { type, resource } = block;
  if (type === "resource") {
    if (!isRecord(resource) || typeof resource["uri"] !== "string") return false;
    return [resource["text"], resource["blob"]].some((each) => typeof each === "string");
  }
  const needed = Object.hasOwn(members, type) ? members[type]! : [];
  return needed.every((name) => typeof block[name] === "string");
}
