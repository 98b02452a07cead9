/**
 * A client of a session. The session fetch looks after its handshake, its tools and its ids: a request is one message
 * and one answer, and nothing of a framework's client is loaded for it.
 */

import {
  type Answer,
  onAbort,
  isRecord,
  type JsonRpcMessage,
  type JsonRpcResponse,
  LATEST_SESSION_VERSION,
  letGo,
  readAnswer,
  readRefusal,
  type SendMessage,
} from "@durable-mcp/core/internal";
import type { WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import type { ClientConfig, ClientOpener, McpClient } from "../base/mcp-client.ts";
import {
  type CallEnvelope,
  type NotingClient,
  notesKey,
  progressIn,
  tokenStart,
} from "../connection/call-envelope.ts";
import { methodNotFound, ofMessages } from "./probe-server.ts";
import { readToolResult } from "./read-tool-result.ts";

export interface SessionClientParts {
  readonly send: SendMessage;
  readonly createError: NonNullable<ClientOpener["createError"]>;
  /** Takes secrets out of the server's texts. */
  readonly scrub: (text: string) => string;
}

/**
 * Connects a client through a session fetch: it answers the handshake, if its slot has a session, and hears what this
 * client declares, for the session that may replace a lost one.
 */
export async function connectSessionClient(
  parts: SessionClientParts,
  { clientName: name, version, capabilities, signal }: Omit<ClientConfig, "transport">,
): Promise<NotingClient> {
  const life = { isClosed: false, underWay: new Set<AbortController>() };
  let protocolVersion = LATEST_SESSION_VERSION;
  const post: SendingParts["post"] = async (message, of, notes, take) =>
    await parts.send(
      { jsonrpc: "2.0", ...message },
      {
        headers: { ...ofMessages, "mcp-protocol-version": protocolVersion },
        ...{ signal: of, take },
        ...(notes && { init: { [notesKey]: notes } as RequestInit }),
      },
    );
  const sending = { ...parts, post, life };
  const request = async (
    method: string,
    params: object | undefined,
    { signal: of }: { readonly signal?: AbortSignal | undefined } = {},
    notes?: CallEnvelope,
  ) => await sendRequest(sending, { method, params, notes }, of);

  const description = { protocolVersion, capabilities, clientInfo: { name, version } };
  const initializeResult = (await request("initialize", description, {
    signal,
  })) as never as McpClient["initializeResult"] & Pick<McpClient, "instructions">;
  const { protocolVersion: spoken } = initializeResult;
  if (!versions.has(spoken)) {
    const message = `Server's protocol version is not supported: ${spoken}`;
    throw await parts.createError({ message });
  }
  protocolVersion = spoken;
  const told = await post({ method: "notifications/initialized" }, signal);
  if (told instanceof Response && !told.ok)
    throw new RefusedRequest(told.status, await readRefusal(told));
  const { instructions } = initializeResult;
  return {
    isOwn: true,
    initializeResult,
    ...(instructions !== undefined && { instructions }),
    async listTools({ params, options } = {}) {
      const result = await request("tools/list", params, options);
      if (Array.isArray(result["tools"])) return result as never;
      throw await unreadable(parts);
    },
    async callTool({ name: tool, arguments: args, options, notes }) {
      const params = { name: tool, arguments: args };
      const result = notes?.answer
        ? await resultIn(parts, notes.answer)
        : await request("tools/call", params, options, notes);
      const read = readToolResult(result);
      if (read === undefined) throw await unreadable(parts);
      return read;
    },
    readResource: async ({ uri, options }) => await request("resources/read", { uri }, options),
    close() {
      life.isClosed = true;
      for (const each of life.underWay) each.abort(new Error(closed));
      return Promise.resolve();
    },
  };
}

/** The revisions that the framework's client speaks with a handshake. */
const versions: ReadonlySet<string> = new Set([
  ...[LATEST_SESSION_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"],
]);
const closed = "Connection closed";

interface SendingParts extends SessionClientParts {
  readonly post: (
    message: object,
    signal?: AbortSignal,
    notes?: CallEnvelope,
    take?: (message: JsonRpcMessage) => void,
  ) => Promise<Answer>;
  readonly life: { readonly isClosed: boolean; readonly underWay: Set<AbortController> };
}

/** Of this process so far. The session fetch gives them ids that no other process uses. */
let requests = 0;

interface SentRequest {
  readonly method: string;
  readonly params: object | undefined;
  readonly notes: CallEnvelope | undefined;
}

/** @returns the result @throws the server's JSON-RPC error, as a client of the framework has it */
async function sendRequest(
  { post, createError, scrub, life }: SendingParts,
  { method, params, notes }: SentRequest,
  callers: AbortSignal | undefined,
): Promise<Record<string, unknown>> {
  requests += 1;
  const id = `${tokenStart}${requests}`;
  const { observe } = notes ?? {};
  const message = { id, method, params: observe ? withToken(params, id) : params };
  let failure: unknown;
  const own = notes && { ...notes, onFailure: (error: unknown) => void (failure = error) };
  const answerServer = (asked: JsonRpcMessage) => {
    const said = observe && progressIn(asked, scrub);
    if (said?.token === id && said.progress) return observe!(said.progress);
    if (!("id" in asked) || !("method" in asked)) return;
    const { id: of, method: wanted } = asked;
    // In the words of the framework's client: tools pass them on to the model.
    const isQuestion = wanted === "elicitation/create";
    const words = isQuestion
      ? "No elicitation handler registered on client"
      : `Unsupported request method: ${wanted}`;
    const refused = { error: { code: methodNotFound, message: words } };
    // Whether it arrives is the server's affair.
    post({ id: of, ...(wanted === "ping" ? { result: {} } : refused) }).then(
      (answer) => letGo(answer as Response),
      () => undefined,
    );
  };
  // `AbortSignal.any` costs more than the rest of the client.
  const ending = new AbortController();
  const stop = onAbort(callers, () => ending.abort(callers?.reason));
  if (life.isClosed || callers?.aborted) ending.abort(callers?.reason);
  life.underWay.add(ending);
  try {
    const sent = await post(message, ending.signal, own, answerServer);
    const answer = sent instanceof Response ? await readResponse(sent, id, answerServer) : sent;
    return await resultIn({ createError }, answer);
  } catch (error) {
    if (failure !== undefined) throw failure;
    if (life.isClosed) throw await createError({ message: closed });
    if (!callers?.aborted) throw error;
    throw await createError({ message: "Request was aborted", cause: callers.reason as unknown });
  } finally {
    stop();
    life.underWay.delete(ending);
  }
}

async function readResponse(...[response, id, onOther]: Parameters<typeof readAnswer>) {
  const { ok, status, headers } = response;
  const type = headers.get("content-type") ?? "none";
  if (!ok) {
    const body = await readRefusal(response);
    const answer = await readAnswer(new Response(body), id);
    const isNamed = answer?.id != null || status < 500;
    if (answer?.error && isNamed && !isOfGate(status)) return answer;
    throw new RefusedRequest(status, body);
  }
  if (!/^(?:application\/json|text\/event-stream)\b/i.test(type))
    throw new RefusedRequest(status, "", `Unexpected content type: ${type}`);
  return await readAnswer(response, id, onOther);
}

/** Whether something refuses with this status that stands before the server's methods. */
export const isOfGate = (status: number) => [401, 403, 429].includes(status);

const withToken = (params: object | undefined, progressToken: string) => ({
  ...params,
  _meta: { progressToken },
});

async function resultIn(
  { createError }: Pick<SessionClientParts, "createError">,
  answer: JsonRpcResponse | WaitingAnswer | undefined,
): Promise<Record<string, unknown>> {
  if (answer?.error) throw await createError({ ...answer.error, cause: answer.error });
  if (isRecord(answer?.result)) return answer.result;
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
