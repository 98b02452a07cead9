import { abortable, timeLimited } from "../base/bounded-wait.ts";
import { randomToken } from "../base/random-token.ts";
import type { KeptResult } from "../session/kept-result.ts";
import { refusesHandshake } from "../session/lost-session.ts";
import { asInitializeResult, type InitializeResult } from "../session/session-snapshot.ts";
import {
  emptyAnswer,
  isRequest,
  type JsonRpcMessage,
  type JsonRpcRequest,
  methodNotFoundAnswer,
  methodOf,
  resultAnswer,
} from "../wire/json-rpc.ts";
import { letGo, readAnswer, rewriteRefusal } from "../wire/read-answer.ts";
import { answerOrReason, type OutgoingRequest } from "../wire/server-endpoint.ts";
import type { KeptResults } from "./kept-results.ts";
import { keyOf, type MemoryCall, type SendRequest } from "./memory-call.ts";
import type { MemoryContext } from "./memory-context.ts";
import { observeAnswer } from "./observe-answer.ts";
import { observeResults } from "./observe-results.ts";
import { createRenewal } from "./renewal.ts";

/** Making the handshake again takes no longer, in milliseconds. */
const renewalMs = 30_000;
const versionHeader = "mcp-protocol-version";
const sessionHeader = "mcp-session-id";

/**
 * Answers a client's handshake with a server that keeps no sessions, and its `tools/list`, from those that
 * were kept: nothing on the server hangs on such a handshake. A server that names a session is not remembered.
 */
export interface HandshakeMemory {
  /** Whether a handshake is kept. */
  readonly isKept: boolean;
  /** The answer to a probe, if the server is known to refuse it. */
  probeAnswer(message: JsonRpcRequest): Response | undefined;
  /** Reads the server's answer to a probe. */
  observeProbe(response: Response, message: JsonRpcRequest): Response;
  answer(call: MemoryCall<JsonRpcMessage>): Promise<Response>;
}

export function createHandshakeMemory(
  context: MemoryContext,
  results: KeptResults,
  send: SendRequest,
): HandshakeMemory {
  const { emit, maxAgeMs, now } = context;
  const renewal = createRenewal<string>();
  /** The last client's own description. */
  let clientParams: JsonRpcRequest["params"];
  /** A handshake whose acknowledgement is still to come. */
  let opened: { readonly result: InitializeResult; readonly length: number } | undefined;
  let refusesProbe = false;
  /** Versions that the server no longer takes, and those in their place. */
  const versions = new Map<string | null, string>();

  const kept = () => {
    const found = results.find({ method: "initialize" });
    const result = asInitializeResult(found?.result);
    return found && result && { ...found, result };
  };
  const keep = (result: InitializeResult, forMs: number, length: number) => {
    const own = { method: "initialize", result, scope: "private" } as const;
    results.keep({ ...own, ...(refusesProbe && { refusesProbe }) }, forMs, length);
  };
  const evict = () => results.evict(({ client }: KeptResult) => client === undefined);

  const observeInitialize = (response: Response, id: unknown): Response => {
    opened = undefined;
    if (!response.ok || response.redirected || namesSession(response)) return response;
    return observeAnswer(response, (message, length) => {
      if (message === undefined || "method" in message || message.id !== id) return;
      const result = asInitializeResult(message.result);
      opened = result && { result, length };
    });
  };
  const namesSession = (response: Response): boolean => {
    const isNamed = response.headers.has(sessionHeader);
    if (isNamed) evict();
    return isNamed;
  };
  const acknowledge = () => {
    if (opened === undefined) return;
    evict();
    keep(opened.result, maxAgeMs, opened.length);
    opened = undefined;
  };

  const forward = async (call: MemoryCall<JsonRpcMessage>): Promise<Response> => {
    const version = versions.get(call.request.headers.get(versionHeader));
    const response = await (version ? send(withVersion(call.request, version)) : call.pass());
    namesSession(response);
    return response;
  };

  /** Makes the handshake in the client's name. Gives its version. */
  const renew = async (request: OutgoingRequest, signal: AbortSignal): Promise<string> => {
    if (clientParams === undefined) throw new Error("No client has described itself.");
    const post = async (headers: Headers, message: object) => {
      const body = JSON.stringify({ jsonrpc: "2.0", ...message });
      return await answerOrReason(send({ ...request, headers, body, signal }), signal);
    };
    const headers = new Headers(request.headers);
    headers.delete(versionHeader);
    const id = randomToken();
    const first = await post(headers, { id, method: "initialize", params: clientParams });
    const observed = observeInitialize(first, id);
    if (observed.ok) await abortable(readAnswer(observed, id), signal);
    letGo(observed);
    endNamed(first, request);
    const version = opened?.result.protocolVersion;
    if (version === undefined) throw new Error("The server made no handshake without a session.");
    const own = withVersion(request, version);
    const second = await post(own.headers, { method: "notifications/initialized" });
    letGo(second);
    if (!second.ok) throw new Error("The server did not acknowledge the handshake.");
    acknowledge();
    const before = request.headers.get(versionHeader);
    if (before !== version) versions.set(before, version);
    return version;
  };
  /** Ends a session that the server made for a handshake of ours. No client knows it. */
  const endNamed = ({ headers: received }: Response, request: OutgoingRequest) => {
    const id = received.get(sessionHeader);
    if (id === null) return;
    const headers = new Headers(request.headers);
    headers.set(sessionHeader, id);
    const init = { ...request.init, redirect: "manual" } as const;
    const own = { method: "DELETE", headers, init, signal: AbortSignal.timeout(renewalMs) };
    send(own).then(letGo, () => undefined);
  };

  /** Sends a request, once more after a new handshake if the server refused the one that was kept. */
  const exchange = async (call: MemoryCall): Promise<Response> => {
    const { message, request } = call;
    const isBuiltOnKept = kept() !== undefined;
    const since = renewal.count;
    const observe = (response: Response) => {
      const key = isBuiltOnKept && message.method.endsWith("/list") ? keyOf(message) : undefined;
      return observeResults(context, results, response, message, key);
    };
    const response = await forward(call);
    if (response.ok || !isBuiltOnKept) return observe(response);
    let body = "";
    const refused = await rewriteRefusal(response, (text) => (body = text));
    if (!refusesHandshake({ status: refused.status, body })) return observe(refused);
    if (renewal.count === since && evict()) emit({ type: "discarded", reason: "refused" });
    const version = await renewal.run(
      since,
      (shared) => timeLimited(renewalMs, shared, (signal) => renew(request, signal)),
      request.signal,
    );
    return version === undefined ? refused : observe(await send(withVersion(request, version)));
  };

  return {
    get isKept() {
      return kept() !== undefined;
    },
    probeAnswer: ({ id }) => (kept()?.refusesProbe ? methodNotFoundAnswer(id) : undefined),
    observeProbe(response, { id }) {
      const note = (isRefused: boolean) => {
        refusesProbe = isRefused;
        const handshake = kept();
        if (!handshake || !isRefused) return;
        const { result, until } = handshake;
        keep(result, until - now(), JSON.stringify(result).length);
      };
      const { ok, status } = response;
      if (!ok && status < 500 && ![401, 403, 408, 429].includes(status)) note(true);
      if (!ok) return response;
      return observeAnswer(response, (message) => {
        if (message && !("method" in message) && message.id === id) note(message.error !== undefined);
      });
    },
    async answer(call) {
      const { message, request } = call;
      const method = methodOf(message);
      const handshake = kept();
      if (method === "notifications/initialized") {
        if (handshake && opened === undefined) return emptyAnswer(202);
        const response = await forward(call);
        if (response.ok) acknowledge();
        return response;
      }
      if (!isRequest(message)) return await forward(call);
      const { id, params } = message;
      request.signal?.throwIfAborted();
      if (method === "initialize") {
        clientParams = params;
        const asked = params?.["protocolVersion"];
        // An older client could not speak the version of the kept handshake.
        const canSpeak = handshake && typeof asked === "string" && asked >= handshake.result.protocolVersion;
        if (canSpeak) return resultAnswer(id, handshake.result);
        return observeInitialize(await call.pass(), id);
      }
      const key = keyOf(message);
      const found = handshake && key && results.find(key);
      return found ? resultAnswer(id, found.result) : await exchange({ ...call, message });
    },
  };
}

function withVersion(request: OutgoingRequest, version: string): OutgoingRequest {
  const headers = new Headers(request.headers);
  headers.set(versionHeader, version);
  return { ...request, headers };
}
