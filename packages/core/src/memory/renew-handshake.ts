import { abortable, timeLimited } from "../base/bounded-wait.ts";
import { randomToken } from "../base/random-token.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import { letGo, readAnswer } from "../wire/read-answer.ts";
import { answerOrReason, type OutgoingRequest } from "../wire/server-endpoint.ts";
import type { KeptHandshake } from "./kept-handshake.ts";
import type { SendRequest } from "./memory-call.ts";

const versionHeader = "mcp-protocol-version";
const sessionHeader = "mcp-session-id";
/** Ending a session takes no longer, in milliseconds. */
const endMs = 5_000;

/**
 * Makes the handshake in a client's name.
 *
 * @param params the client's own description
 * @returns the version of the new handshake
 * @throws if there is none, or if the server named a session: no client would know it
 */
export async function renewHandshake(
  kept: KeptHandshake,
  send: SendRequest,
  params: JsonRpcRequest["params"],
  { headers: received, init }: OutgoingRequest,
  signal: AbortSignal,
): Promise<string> {
  if (params === undefined) throw new Error("No client has described itself.");
  const headers = new Headers(received);
  headers.delete(versionHeader);
  const post = async (message: object) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return await answerOrReason(send({ method: "POST", headers, body, init, signal }), signal);
  };
  const id = randomToken();
  const first = kept.observeInitialize(await post({ id, method: "initialize", params }), id);
  if (first.ok) await abortable(readAnswer(first, id), signal);
  letGo(first);
  const sessionId = first.headers.get(sessionHeader);
  if (sessionId !== null) endNamed(send, sessionId, { headers, init });
  const version = kept.opened?.protocolVersion;
  if (version === undefined) throw new Error("The server made no handshake without a session.");
  headers.set(versionHeader, version);
  const second = await post({ method: "notifications/initialized" });
  letGo(second);
  if (!second.ok) throw new Error("The server did not acknowledge the handshake.");
  kept.acknowledge();
  return version;
}

/** Best effort. Nobody waits for it. */
function endNamed(
  send: SendRequest,
  sessionId: string,
  { headers: own, init }: Pick<OutgoingRequest, "headers" | "init">,
): void {
  const headers = new Headers(own);
  headers.set(sessionHeader, sessionId);
  const end = { method: "DELETE", headers, init: { ...init, redirect: "manual" as const } };
  timeLimited(endMs, undefined, (signal) => send({ ...end, signal })).then(letGo, () => undefined);
}

/** The version of a request with a handshake. */
export function versionOf({ headers }: OutgoingRequest): string | null {
  return headers.get(versionHeader);
}

export function withVersion(request: OutgoingRequest, version: string): OutgoingRequest {
  const headers = new Headers(request.headers);
  headers.set(versionHeader, version);
  return { ...request, headers };
}
