/**
 * A client of a session that an earlier step has made. Its handshake, its tools and its ids are known to the session
 * fetch: a request is one message and one answer, and nothing of a framework's client is loaded for it.
 */

import type { InitializeResult } from "@durable-mcp/core";
import { isRecord, type JsonRpcMessage, randomToken, readAnswer, readRefusal } from "@durable-mcp/core/internal";
import type { CallToolResult, ClientOpener, McpClient } from "../base/mcp-client.ts";

interface SessionClientParts {
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
  readonly initializeResult: InitializeResult;
  readonly createError: NonNullable<ClientOpener["createError"]>;
}

/** A client on a session fetch whose slot has a session. It connects nothing. */
export function createSessionClient(parts: SessionClientParts): McpClient {
  const { initializeResult } = parts;
  const { instructions } = initializeResult;
  const closing = new AbortController();
  const request = async (
    method: string,
    params: object | undefined,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ) => await sendRequest(parts, { method, params }, closing.signal, signal);
  return {
    initializeResult,
    ...(instructions !== undefined && { instructions }),
    async listTools({ params, options } = {}) {
      const result = await request("tools/list", params, options);
      if (Array.isArray(result["tools"])) return result as never;
      throw unreadable();
    },
    async callTool({ name, arguments: args, options }) {
      return readToolResult(await request("tools/call", { name, arguments: args }, options));
    },
    readResource: async ({ uri, options }) => await request("resources/read", { uri }, options),
    close() {
      closing.abort();
      return Promise.resolve();
    },
  };
}

/** @returns the result @throws the server's JSON-RPC error, as the framework's client has it */
async function sendRequest(
  { url, fetch, initializeResult, createError }: SessionClientParts,
  message: { readonly method: string; readonly params: object | undefined },
  closing: AbortSignal,
  signal: AbortSignal | undefined,
): Promise<Record<string, unknown>> {
  if (closing.aborted) throw await createError({ message: "Connection closed" });
  const aborted = async () =>
    await createError({ message: "Request was aborted", cause: signal!.reason as unknown });
  if (signal?.aborted) throw await aborted();
  const post = async (body: object) =>
    await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": initializeResult.protocolVersion,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
      ...(signal && { signal }),
    });
  const id = randomToken();
  const answerServer = (asked: JsonRpcMessage) => {
    if (!("id" in asked) || !("method" in asked)) return;
    const error = { code: -32_601, message: "Method not found" };
    const own = { id: asked.id, ...(asked.method === "ping" ? { result: {} } : { error }) };
    // Whether it arrives is the server's affair.
    post(own).then(
      async ({ body }) => await body?.cancel(),
      () => undefined,
    );
  };
  try {
    const response = await post({ id, ...message });
    const { ok, status, headers } = response;
    const isAnswer = ok && /^(?:application\/json|text\/event-stream)\b/i.test(typeOf(headers));
    if (!isAnswer) throw new RefusedRequest(status, await readRefusal(response));
    const answer = await readAnswer(response, id, answerServer);
    if (answer === undefined) throw unreadable();
    if (answer.error) throw await createError(answer.error);
    if (isRecord(answer.result)) return answer.result;
  } catch (error) {
    throw signal?.aborted ? await aborted() : error;
  }
  throw unreadable();
}

/** Has the fields of a client's error. */
export class RefusedRequest extends Error {
  readonly statusCode: number;
  readonly responseBody: string;

  constructor(statusCode: number, responseBody: string) {
    super(`HTTP ${statusCode}`);
    this.statusCode = statusCode;
    this.responseBody = responseBody;
  }
}

const typeOf = (headers: Headers) => headers.get("content-type") ?? "";

const unreadable = () => new Error("Failed to parse server response");

/** The result of a call, checked as far as its readers rely on it. One of structured content alone gets it as text, too. */
function readToolResult(result: Record<string, unknown>): CallToolResult {
  const { content, structuredContent, isError = false } = result;
  if (typeof isError !== "boolean") throw unreadable();
  if (Array.isArray(content) && content.every(isContent)) return { ...result, isError } as never;
  if (content === undefined && structuredContent !== undefined) {
    const text = JSON.stringify(structuredContent);
    return { ...result, isError, content: [{ type: "text", text }] } as never;
  }
  // Of servers of 2024-10-07.
  if ("toolResult" in result) return result as never;
  throw unreadable();
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
