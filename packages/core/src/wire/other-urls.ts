import { McpSessionError } from "../base/mcp-session-error.ts";
import { requestUrl } from "./outgoing-request.ts";
import { isRedirect, redirectRefused } from "./server-endpoint.ts";

/**
 * Sends requests that are not for the connection's URL: OAuth discovery, registration and tokens. They
 * never carry a session id.
 *
 * `@ai-sdk/mcp` assumes that any custom fetch guards against foreign hosts, and drops its own check. So
 * requests to other origins are refused, unless the application passed a base fetch of its own.
 *
 * @throws {McpSessionError} `FETCH_REQUIRED`, `REDIRECT_REFUSED`
 */
export function createFetchForOtherUrls({
  origin,
  fetch,
  allowOtherOrigins,
}: {
  origin: string;
  fetch: typeof globalThis.fetch;
  allowOtherOrigins: boolean;
}): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const request = input instanceof Request ? input : undefined;
    const headers = new Headers(init.headers ?? request?.headers);
    headers.delete("mcp-session-id");
    if (allowOtherOrigins) return fetch(input, { ...init, headers });
    const url = requestUrl(input);
    const method = init.method ?? request?.method ?? "GET";
    if (url.origin !== origin) {
      throw new McpSessionError(
        "FETCH_REQUIRED",
        `A request to ${url.origin} was refused: this connection only goes to ${origin}. To allow other origins, such as an authorization server, pass your own \`fetch\` that checks where requests go.`,
        { data: { method, origin: url.origin } },
      );
    }
    const response = await fetch(input, { ...init, headers, redirect: "manual" });
    if (!isRedirect(response)) return response;
    throw redirectRefused(method, url, response.status);
  };
}
