import { isRecord } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { isRequest, type JsonRpcRequest, parseMessage, revisionIn } from "../wire/json-rpc.ts";
import { editAnswer } from "../wire/read-answer.ts";
import {
  bodyText,
  isSameEndpoint,
  readOutgoingRequest,
  requestUrl,
} from "../wire/server-endpoint.ts";
import { goOn } from "./answer-call.ts";
import { keep } from "./claim.ts";
import {
  beginCall,
  callId,
  type CallIdentity,
  createCall,
  findTurn,
  isNamed,
  upToDate,
} from "./current-call.ts";
import { completeResult, questionOf } from "./send-leg.ts";
import { waitingFailure } from "./waiting-failure.ts";
import {
  type AskingMethod,
  askingMethods,
  placeholderResult,
  type WaitingCall,
  withoutMarks,
} from "./waiting-call.ts";
import type { WaitingContext } from "./waiting-context.ts";
import { asks, type Question } from "./waiting-life.ts";
import { describeWaiting, type WaitingAnswer, type WaitingRecord } from "./waiting-record.ts";
import type { StoredCall } from "./waiting-store.ts";

type Fetch = typeof globalThis.fetch;

/** What the caller of a client knows of a call, and the client does not. */
export interface CallNotes {
  readonly toolCallId?: string | undefined;
  /** What else tells the call apart, such as the task of a graph that runs again. */
  readonly scope?: string | undefined;
  /** The input as the model gave it. @default the arguments of the request */
  readonly input?: unknown;
  /** The record of a call that waited for a sign-in, and is now sent: it is not looked up, and gets the questions. */
  readonly claimed?: StoredCall | undefined;
  /** Gets the record of a call that was asked something, now or earlier, before the client gets its answer. */
  readonly onCall?: ((call: WaitingRecord) => void) | undefined;
  /** Gets the call whose placeholder the client gets. What the client makes of it may be the server's. */
  readonly onWaiting?: ((call: WaitingCall) => void) | undefined;
  /** Gets the error of a call whose client only gets its words. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
const mayAsk = (method: string) => (askingMethods as readonly string[]).includes(method);

/**
 * The fetch of one client on a connection that pauses. It declares in each request that a person can be asked.
 * When the server asks, it keeps the questions, and the client gets a result that says that the call waits.
 * Requests of revisions with sessions pass unchanged.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export function createWaitingFetch(
  context: WaitingContext,
  fetch: Fetch,
  { url, connection }: { readonly url: URL; readonly connection: string },
) {
  return async (
    input: Parameters<Fetch>[0],
    init?: RequestInit,
    notes: CallNotes = {},
  ): Promise<Response> => {
    if (!isSameEndpoint(requestUrl(input), url)) return await fetch(input, init);
    const request = await readOutgoingRequest(input, init);
    const own = readRequest(bodyText(request));
    if (own === undefined) return await fetch(input, init);
    if (revisionIn(own) === undefined) {
      const response = await fetch(input, init);
      return mayAsk(own.method) ? answerWithPlaceholder(response, own.id) : response;
    }
    const message = declaring(own);
    const send = async () => await fetch(input, { ...init, body: JSON.stringify(message) });
    const { params = {} } = message;
    const isAnswered =
      Object.hasOwn(params, "inputResponses") || Object.hasOwn(params, "requestState");
    if (!mayAsk(message.method)) return await send();
    // A client that answers by itself has the state, and is responsible for it.
    if (isAnswered) return answerWithPlaceholder(await send(), message.id);

    const { headers, signal } = request;
    const identity = identityOf(connection, message, notes);
    const begun = await beginCall(context, "input", identity, {
      url,
      request: repeatable(message, headers),
    });
    const leg = { fetch: withHeaders(fetch, headers), signal };
    const { claimed } = notes;
    const { id, known } = claimed
      ? { id: claimed.call.id, known: undefined }
      : await findCall(context, identity);
    if (known !== undefined) {
      const answer = answerOf(await goOn(context, known, leg), notes);
      return Response.json({ jsonrpc: "2.0", id: message.id, ...answer });
    }
    return answerWithPlaceholder(await send(), message.id, async (question) => {
      try {
        const asked = await keepQuestion(context, { ...begun, id }, question, claimed);
        return answerOf(await goOn(context, asked, leg), notes);
      } catch (error) {
        notes.onFailure?.(error);
        throw error;
      }
    });
  };
}

/** The fetch of legs that go on by themselves: they have the headers of the client's own request. */
function withHeaders(fetch: Fetch, own: Headers): Fetch {
  return async (input, init) => {
    const headers = new Headers(own);
    for (const [name, value] of new Headers(init?.headers)) headers.set(name, value);
    return await fetch(input, { ...init, headers });
  };
}

function readRequest(body: string | undefined): JsonRpcRequest | undefined {
  const message = body === undefined ? undefined : parseMessage(body);
  return message !== undefined && isRequest(message) ? message : undefined;
}

/** The request with the capability to be asked, in forms and at URLs. */
function declaring(message: JsonRpcRequest): JsonRpcRequest {
  const { params = {} } = message;
  const meta = params["_meta"] as Record<string, unknown>;
  const capabilities = isRecord(meta[capabilitiesKey]) ? meta[capabilitiesKey] : {};
  const elicitation = { form: {}, url: {} };
  const own = { ...meta, [capabilitiesKey]: { ...capabilities, elicitation } };
  return { ...message, params: { ...params, _meta: own } };
}

/** The members of `_meta` that are for one request. */
const ofOneRequest = new Set(["progressToken", "traceparent", "tracestate", "baggage"]);
/** The headers that describe the request to what stands before the server. */
const describing = /^(?:mcp-protocol-version|mcp-method|mcp-name|mcp-param-.*)$/;

/** The request of a call, as each of its legs repeats it. */
function repeatable({ method, params = {} }: JsonRpcRequest, headers: Headers) {
  const meta = Object.entries(params["_meta"] as object).filter(([key]) => !ofOneRequest.has(key));
  return {
    method: method as AskingMethod,
    params: { ...params, _meta: Object.fromEntries(meta) as object },
    headers: Object.fromEntries([...headers].filter(([name]) => describing.test(name))),
  };
}

function identityOf(
  connection: string,
  { method, params = {} }: JsonRpcRequest,
  { toolCallId, scope, input = params["arguments"] ?? {} }: CallNotes,
): CallIdentity {
  const tool = String(params[method === "resources/read" ? "uri" : "name"]);
  return { connection, method, tool, input, toolCallId, scope };
}

/** The id of a call, and its record if an earlier run of the step was asked for it and nobody has its result. */
async function findCall(context: WaitingContext, identity: CallIdentity) {
  if (!isNamed(identity)) return { id: await callId(identity, 0) };
  const { id, stored } = await findTurn(context, identity, (each) => context.calls.read(each));
  return { id, known: stored && (await upToDate(context, stored)).call };
}

/** The record is there before the client learns of the question. */
async function keepQuestion(
  context: WaitingContext,
  first: WaitingRecord,
  question: Question,
  claimed: StoredCall | undefined,
): Promise<WaitingRecord> {
  const { limits, now } = context;
  const asked = asks(first, question, { now: now(), maxAgeMs: limits.maxAgeMs });
  if (claimed !== undefined) return await keep(context, claimed, asked);
  if (asked.state === "settled") return asked;
  return (await createCall(context, asked)).call;
}

/** What a client gets for a call that was asked something: its result, its failure, or the placeholder. */
function answerOf(call: WaitingRecord, notes: CallNotes): WaitingAnswer {
  notes.onCall?.(call);
  if (call.answer !== undefined) return call.answer;
  if (call.state !== "waiting" && call.state !== "answering") throw waitingFailure(call);
  const shown = describeWaiting(call);
  notes.onWaiting?.(shown);
  return { result: placeholderResult(shown) };
}

/**
 * The server's answer to one request, with what `take` gives in the place of questions. A result that does not
 * say that it is complete says so then. Without `take` questions are the client's. No result of a server says that a
 * call waits; all else passes as it comes.
 */
function answerWithPlaceholder(
  response: Response,
  id: JsonRpcRequest["id"],
  take?: (question: Question) => Promise<WaitingAnswer>,
): Response {
  return editAnswer(response, async (text) => {
    const message = parseMessage(text);
    if (message === undefined || "method" in message || message.id !== id) return text;
    const { result } = message;
    const print = (answer: object) => JSON.stringify({ jsonrpc: "2.0", id, ...answer });
    try {
      const question = take && questionOf(result);
      if (question !== undefined) return print(await take!(question));
      const own = withoutMarks(result);
      const isUntyped = take !== undefined && own?.["resultType"] === undefined;
      const whole = (isUntyped && completeResult(own)) || own;
      return whole === result ? text : print({ result: whole });
    } catch (error) {
      return print({ error: asRpcError(error) });
    }
  });
}

/** After response headers a failure is an answer, with our code in its data. */
function asRpcError(error: unknown) {
  const isOurs = McpSessionError.isInstance(error);
  const { message } = isOurs ? error : { message: "The server's question could not be kept." };
  return { code: -32_603, message, data: isOurs ? { code: error.code } : {} };
}
