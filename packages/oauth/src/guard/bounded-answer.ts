import { McpSessionError } from "@durable-mcp/core";
import { abortable, isRedirect, letGo, serverLimits } from "@durable-mcp/core/internal";

/** Headers that say something about the bytes on the wire, and cookies, which nobody keeps here. */
const droppedHeaders = ["content-encoding", "content-length", "set-cookie", "transfer-encoding"];

/**
 * The answer, read whole, without its cookies. What a server sends afterwards cannot hang anybody.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if it is a redirect, is larger than 1 MiB, or has no status of
 *   HTTP
 */
export async function readBounded(
  response: Response,
  { method, url }: { readonly method: string; readonly url: URL },
  signal: AbortSignal,
): Promise<Response> {
  // A `fetch` of the application may have followed a redirect on its own.
  if (isRedirect(response) || response.redirected) {
    letGo(response);
    throw redirectRefused(method, url, response);
  }
  const { status } = response;
  const bytes = await readBytes(response, signal);
  // Such a status is on no list, and no `Response` can be made with it.
  if (bytes === undefined || status < 200 || status > 599) {
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `${method} ${url.origin} was answered with ${bytes === undefined ? "more than 1 MiB" : `HTTP ${status}`}, which is no answer of an authorization server. Check that its URL is right.`,
      { data: { method, origin: url.origin, status } },
    );
  }
  const headers = new Headers([...response.headers]);
  for (const name of droppedHeaders) headers.delete(name);
  return new Response(bytes.length === 0 ? null : bytes, { status, headers });
}

/** The body, or `undefined` if it is too large. */
async function readBytes(
  response: Response,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (response.body === null) return new Uint8Array();
  const reader = response.body.getReader();
  const stop = () => void reader.cancel().catch(() => undefined);
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await abortable(reader.read(), signal);
      if (done) break;
      length += value.length;
      if (length > serverLimits.authorizationBytes) return undefined;
      parts.push(value);
    }
  } finally {
    stop();
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

function redirectRefused(method: string, url: URL, response: Response): McpSessionError {
  const location = response.headers.get("location") ?? response.url;
  const hop = URL.canParse(location, url.href) ? new URL(location, url.href) : undefined;
  const isHttp = hop?.protocol === "https:" || hop?.protocol === "http:";
  const target = isHttp ? ` to ${hop.origin}` : "";
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `${method} ${url.origin} was answered with a redirect${target}. No request of a sign-in follows one, because it could carry a code or a token elsewhere. The metadata of the server must name its final URLs.`,
    { data: { reason: "redirect", method, origin: url.origin, status: response.status } },
  );
}
