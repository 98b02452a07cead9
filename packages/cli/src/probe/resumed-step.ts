import {
  createSessionFetch,
  createSessionSlot,
  type InitializeResult,
  parseSessionSnapshot,
} from "@durable-mcp/core";
import type { CheckResult, ProbeContext } from "./checks.ts";
import { clientInfo, type ProbeSession } from "./open-sessions.ts";

/**
 * Makes a resumed step with the session fetch itself, and counts what reaches the server: a client's whole handshake,
 * and a ping in the place of a call.
 */
export async function checkResumedStep(
  { wire: { url }, headers, signal }: ProbeContext,
  result: InitializeResult,
  session: ProbeSession | undefined,
): Promise<CheckResult> {
  const common = { version: 1, url: url.href, initializeResult: result };
  const snapshot =
    session === undefined
      ? { ...common, kind: "sessionless", keptAt: Date.now() }
      : { ...common, kind: "session", sessionId: session.sessionId, clientCapabilities: {} };
  let requests = 0;
  const countedFetch: typeof globalThis.fetch = (input, init) => {
    requests += 1;
    return fetch(input, init);
  };
  const slot = createSessionSlot(parseSessionSnapshot(snapshot));
  const sessionFetch = createSessionFetch({ url, slot, fetch: countedFetch });
  const send = async (message: object) => {
    const answer = await sessionFetch(url, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      signal,
    });
    return { status: answer.status, text: await answer.text() };
  };
  const { protocolVersion } = result;
  const params = { protocolVersion, capabilities: {}, clientInfo };
  await send({ id: 0, method: "initialize", params });
  await send({ method: "notifications/initialized" });
  const { status, text } = await send({ id: 1, method: "ping" });
  if (status >= 400 || !text.includes('"result"')) {
    const says = `A ping in the place of a call was answered with ${status}.`;
    return { outcome: "failed", says };
  }
  const what = session === undefined ? "handshake" : "session";
  return {
    outcome: requests === 1 ? "ok" : "warning",
    says: `With the kept ${what} a step that makes one call sends ${requests === 1 ? "1 request" : `${requests} requests`}.`,
    facts: { resumedRequests: requests },
  };
}
