import { timeLimited } from "../base/bounded-wait.ts";
import { serverLimits } from "../base/server-limits.ts";
import type { JsonRpcRequest, JsonRpcResponse } from "../wire/json-rpc.ts";
import { letGo } from "../wire/read-answer.ts";
import { answerOrReason } from "../wire/server-endpoint.ts";
import { type BoundedRequest, type SessionContext, sendOwn } from "./session-context.ts";
import { liveSession, saveSnapshot } from "./session-life.ts";
import { type LiveSession, sameSession, type SlotState } from "./slot-state.ts";
import { isKeepable, type SessionSnapshot, type StandingRequests } from "./session-snapshot.ts";

const timeoutMs = 10_000;

/**
 * Notes a client's request that holds for the rest of the session, once the server has answered it.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#setting-log-level
 */
export function observeStandingRequests(
  state: SlotState,
  { result }: JsonRpcResponse,
  { method, params }: JsonRpcRequest,
): void {
  const { snapshot } = state;
  if (result === undefined || snapshot?.kind !== "session") return;
  const { uri, level } = params ?? {};
  const { subscriptions = [], ...others } = snapshot;
  let next: SessionSnapshot | undefined;
  if (method === "logging/setLevel" && typeof level === "string") {
    next = { ...snapshot, logLevel: level };
  } else if (method === "resources/subscribe" && typeof uri === "string") {
    if (subscriptions.includes(uri) || subscriptions.length >= serverLimits.subscriptions) return;
    next = { ...snapshot, subscriptions: [...subscriptions, uri] };
  } else if (method === "resources/unsubscribe" && subscriptions.includes(uri as string)) {
    const left = subscriptions.filter((each) => each !== uri);
    next = left.length === 0 ? others : { ...others, subscriptions: left };
  }
  if (next !== undefined && isKeepable(next)) saveSnapshot(state, next);
}

const noListener =
  "nobody listens here, so no notification would arrive. Set listening: true of createSessionFetch; a connection listens that has onElicitation.";
const otherListener =
  "another step listens on this session, and gets its notifications. Subscribe there, or in a session of its own.";

/** The answer to a subscription of which the client would hear nothing; `undefined` for any other request. */
export function refuseUnheard(
  { listening, state }: SessionContext,
  { id, method }: JsonRpcRequest,
): Response | undefined {
  const { takenOn } = state.stream;
  const live = liveSession(state);
  const isTaken = takenOn !== undefined && live !== undefined && sameSession(takenOn, live);
  if (method !== "resources/subscribe" || (listening && !isTaken)) return undefined;
  const message = `${method} was not sent: ${listening ? otherListener : noListener}`;
  return Response.json({ jsonrpc: "2.0", id, error: { code: -32_601, message } });
}

/** Makes the standing requests of a lost session again, on the one in its place. Best effort. */
export async function repeatStandingRequests(
  context: SessionContext,
  session: LiveSession,
  { subscriptions = [], logLevel }: StandingRequests,
  request: BoundedRequest,
): Promise<void> {
  const messages = subscriptions.map((uri) => ({
    method: "resources/subscribe",
    params: { uri } as object,
  }));
  if (logLevel !== undefined) {
    messages.push({ method: "logging/setLevel", params: { level: logLevel } });
  }
  if (messages.length === 0) return;
  await timeLimited(timeoutMs, request.signal, async (signal) => {
    const repeating = messages.map(async (message) => {
      const own = { ...message, id: context.ids.next() };
      const sending = sendOwn(context, session, own, { ...request, signal });
      letGo(await answerOrReason(sending, signal));
    });
    await Promise.allSettled(repeating);
  });
}
