import { McpSessionError } from "@durable-mcp/core";
import { readAnswer } from "@durable-mcp/core/internal";
import type { ClientConfig } from "../base/mcp-client.ts";
import { firstWithDiscovery } from "../records/kept-session.ts";

/**
 * Asks a server what it speaks, as the framework's client does. The session fetch opens a session for it.
 *
 * @returns the server's answer, if it is none that a server with sessions gives
 */
export async function probeServer(
  { url, fetch }: { readonly url: string; readonly fetch: typeof globalThis.fetch },
  { clientName: name, version, capabilities, signal }: Omit<ClientConfig, "transport">,
): Promise<Response | undefined> {
  const probe = discoverRequest(firstWithDiscovery, { name, version }, capabilities);
  const response = await fetch(url, { ...probe, signal }).catch((error: unknown) => {
    const isLocked = McpSessionError.isInstance(error) && error.code === "AUTHORIZATION_REQUIRED";
    if (signal.aborted || isLocked) throw error;
    // The handshake says why.
    return undefined;
  });
  const { error } = (response && (await readAnswer(response.clone(), 0))) ?? {};
  return error?.code === methodNotFound ? undefined : response;
}

/** The request that asks a server of a revision without sessions what it has. */
export function discoverRequest(
  protocolVersion: string,
  clientInfo: object,
  capabilities: object = {},
): RequestInit {
  const method = "server/discover";
  const start = "io.modelcontextprotocol";
  const meta = {
    [`${start}/protocolVersion`]: protocolVersion,
    [`${start}/clientCapabilities`]: capabilities,
    [`${start}/clientInfo`]: clientInfo,
  };
  return {
    method: "POST",
    headers: { ...ofMessages, "mcp-protocol-version": protocolVersion, "mcp-method": method },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method, params: { _meta: meta } }),
  };
}

/** The same for one whose sessions nobody keeps. */
export const pingRequest = (protocolVersion: string): RequestInit => ({
  method: "POST",
  headers: { ...ofMessages, "mcp-protocol-version": protocolVersion },
  body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" }),
});

export const ofMessages = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

export const methodNotFound = -32_601;
