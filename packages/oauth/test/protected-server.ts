import { createGuardedFetch, type Guard } from "../src/guard/guarded-fetch.ts";
import { startLoopbackServer } from "./loopback-server.ts";

/** A request of the code under test. */
interface SentRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: URLSearchParams;
}

export interface ProtectedServer {
  readonly url: URL;
  readonly guard: Guard;
  /** What went out through the guard, in order. */
  readonly sent: SentRequest[];
}

/** An MCP server as far as a sign-in knows one: its metadata at the well-known place for `/mcp`. */
export async function startProtectedServer(
  issuers: readonly string[],
  scopes?: readonly string[],
): Promise<ProtectedServer> {
  const server = await startLoopbackServer((request, response) => {
    const isMetadata = request.url === "/.well-known/oauth-protected-resource/mcp";
    response.writeHead(isMetadata ? 200 : 404, { "content-type": "application/json" });
    const metadata = {
      resource: `${server.origin}/mcp`,
      authorization_servers: issuers,
      scopes_supported: scopes,
    };
    response.end(JSON.stringify(isMetadata ? metadata : { error: "not_found" }));
  });
  const url = new URL(`${server.origin}/mcp`);
  return { url, ...recordRequests(url) };
}

/** A guard whose requests are kept. */
function recordRequests(resource: URL): Pick<ProtectedServer, "guard" | "sent"> {
  const sent: SentRequest[] = [];
  const guard = createGuardedFetch({ resource });
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const body = new URLSearchParams(await request.clone().text());
    sent.push({ url: request.url, headers: request.headers, body });
    return await guard.fetch(input, init);
  };
  return { guard: { ...guard, fetch }, sent };
}
