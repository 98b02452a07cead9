import type { McpSessionError } from "@durable-mcp/core";
import type { SharedClient } from "../connection/shared-client.ts";
import { clientOpener } from "../declare/define-connection.ts";
import { clientInfo } from "../connection/client-capabilities.ts";
import { firstWithDiscovery, keptVersion } from "../records/kept-session.ts";
import { ping } from "../connection/end-mcp-session.ts";
import type { HttpParts } from "./http-parts.ts";
import { discoverRequest, pingRequest } from "./probe-server.ts";

/**
 * Connects. If nothing of that reached the server, it is asked.
 *
 * @throws the reason why the server did not answer
 */
export async function probe(
  parts: HttpParts,
  client: SharedClient,
  takeFetch: () => typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<void> {
  const { use } = parts;
  const isConnected = client.isBegun();
  const before = use.requests;
  const connected = await client.get();
  const hasSession = parts.slot?.snapshot?.kind === "session";
  if (!hasSession && use.requests > before) return;
  if (await askKept(parts, takeFetch, signal)) return;
  const hasTools = connected.initializeResult.capabilities.tools != null;
  // A listing is the smallest request then.
  if (isConnected && hasTools) await connected.listTools({ options: { signal } });
}

/**
 * Asks the server of an earlier step: on its session, or past what is kept of it. Without either nothing is sent,
 * because the use that follows has to ask the server anyway.
 *
 * @throws the reason why the server did not answer
 */
export async function ask(...asked: Parameters<typeof askKept>): Promise<void> {
  await askKept(...asked);
}

/** @returns whether there is something to ask about */
async function askKept(
  parts: HttpParts,
  takeFetch: () => typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<boolean> {
  const { slot, url } = parts;
  const { snapshot } = slot ?? {};
  if (slot !== undefined && snapshot?.kind === "session") {
    const fetch = takeFetch();
    await send(parts, async () => await ping(fetch, new URL(url), slot, signal));
    return true;
  }
  const protocolVersion = snapshot && keptVersion(snapshot);
  if (protocolVersion === undefined) return false;
  await send(parts, async () => await askWithoutSession(parts, protocolVersion, signal));
  return true;
}

/** Asks the server beneath what is kept of it. */
async function askWithoutSession(
  { url, connectionFetch, definition }: HttpParts,
  protocolVersion: string,
  signal: AbortSignal,
): Promise<Asked> {
  const isDiscovery = protocolVersion >= firstWithDiscovery;
  const request = isDiscovery
    ? discoverRequest(protocolVersion, clientInfo(definition.options))
    : pingRequest(protocolVersion);
  const response = await connectionFetch.fetch(new URL(url), { ...request, signal });
  await response.body?.cancel();
  const { ok, status } = response;
  // A server that wants another handshake, or another revision, is there.
  return ok || status === 400 ? {} : { status };
}

interface Asked {
  readonly status?: number;
  readonly failure?: McpSessionError | undefined;
}

/** @throws the reason why the server did not answer */
async function send(
  { url, unavailable, connectionFetch, definition }: HttpParts,
  attempt: () => Promise<Asked>,
): Promise<void> {
  let { status, failure } = await attempt();
  const provider = status === 401 ? await connectionFetch.authProvider() : undefined;
  // The client would renew the login, too, but it only does so for requests of its own.
  const use = { serverUrl: new URL(url).href, fetchFn: connectionFetch.fetch };
  const isRenewed = provider && (await definition[clientOpener].renewLogin(provider, use));
  if (isRenewed) ({ status, failure } = await attempt());
  if (failure !== undefined) throw failure;
  if (status !== undefined) {
    throw unavailable({ statusCode: status });
  }
}
