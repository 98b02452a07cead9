import { timeLimited } from "../base/bounded-wait.ts";
import { toResponse } from "../session/buffered-answer.ts";
import { readProof, refusesInside } from "../session/kept-handshake.ts";
import { refusesHandshake } from "../session/lost-session.ts";
import type { LiveSession } from "../session/slot-state.ts";
import {
  emptyAnswer,
  isRequest,
  type JsonRpcMessage,
  type JsonRpcRequest,
  methodOf,
  resultAnswer,
} from "../wire/json-rpc.ts";
import { rewriteRefusal } from "../wire/read-answer.ts";
import type { KeptHandshake } from "./kept-handshake.ts";
import type { KeptResults } from "./kept-results.ts";
import { keyOf, type MemoryCall, type SendRequest } from "./memory-call.ts";
import type { MemoryContext } from "./memory-context.ts";
import { observeResults } from "./observe-results.ts";
import { renewHandshake, versionOf, withVersion } from "./renew-handshake.ts";
import { createRenewal } from "./renewal.ts";

/** Making the handshake again takes no longer, in milliseconds. */
const renewalMs = 30_000;

/**
 * Answers a client's handshake with a server that keeps no sessions, and its `tools/list`, from those that
 * were kept: nothing on the server hangs on such a handshake. If the server refuses a request that was made
 * with it, the handshake is made again, and the request goes out once more.
 */
export function createHandshakeMemory(
  context: MemoryContext,
  results: KeptResults,
  kept: KeptHandshake,
  send: SendRequest,
): (call: MemoryCall<JsonRpcMessage>) => Promise<Response> {
  const renewal = createRenewal<string>();
  /** The last client's own description. */
  let clientParams: JsonRpcRequest["params"];
  /** Versions that the server no longer takes, and those in their place. */
  const versions = new Map<string | null, string>();

  const forward = async ({ request, pass }: MemoryCall<JsonRpcMessage>): Promise<Response> => {
    const version = versions.get(versionOf(request));
    const response = await (version ? send(withVersion(request, version)) : pass());
    kept.checkSession(response);
    return response;
  };

  const evictRefused = () => {
    if (kept.evict()) context.emit({ type: "discarded", reason: "refused" });
  };

  const exchange = async (call: MemoryCall): Promise<Response> => {
    const { message, request } = call;
    const { session } = kept;
    const since = renewal.count;
    const { evictions } = results;
    const key = session && message.method.endsWith("/list") ? keyOf(message) : undefined;
    const observe = (response: Response, sentAt?: number) =>
      observeResults(context, results, response, message, {
        ...{ key, since: sentAt },
        onError(answer) {
          // The client gets the error. The next step makes the handshake.
          if (session && refusesInside(session, answer)) evictRefused();
        },
      });
    const response = await forward(call);
    const refusal = session && (await refusalOf(response, session));
    if (refusal === undefined || "answer" in refusal)
      return observe(refusal?.answer ?? response, evictions);
    if (renewal.count === since) evictRefused();
    const renew = (signal: AbortSignal) =>
      renewHandshake(kept, send, clientParams, request, signal);
    const version = await renewal.run(
      since,
      (signal) => timeLimited(renewalMs, signal, renew),
      request.signal,
    );
    if (version === undefined) return refusal.refused;
    versions.set(versionOf(request), version);
    return observe(await send(withVersion(request, version)));
  };

  return async (call) => {
    const { message, request } = call;
    const { result } = kept;
    if (methodOf(message) === "notifications/initialized") {
      if (result !== undefined && kept.opened === undefined) return emptyAnswer(202);
      const response = await forward(call);
      if (response.ok) kept.acknowledge();
      return response;
    }
    if (!isRequest(message)) return await forward(call);
    request.signal?.throwIfAborted();
    const { id, method, params } = message;
    if (method === "initialize") {
      clientParams = params;
      const asked = params?.["protocolVersion"];
      // An older client could not speak the version of the kept handshake.
      const canSpeak = result && typeof asked === "string" && asked >= result.protocolVersion;
      return canSpeak ? resultAnswer(id, result) : kept.observeInitialize(await call.pass(), id);
    }
    const key = result && keyOf(message);
    const found = key && results.find(key);
    return found ? resultAnswer(id, found.result) : await exchange({ ...call, message });
  };
}

/** The refusal of a handshake, or an answer like the given one. */
async function refusalOf(
  response: Response,
  session: LiveSession,
): Promise<{ readonly refused: Response } | { readonly answer: Response }> {
  if (!response.ok) {
    let body = "";
    const answer = await rewriteRefusal(response, (text) => (body = text));
    const { status } = answer;
    return refusesHandshake({ status, body }) ? { refused: answer } : { answer };
  }
  const proof = await readProof(response, session);
  return proof instanceof Response ? { answer: proof } : { refused: toResponse(proof) };
}
