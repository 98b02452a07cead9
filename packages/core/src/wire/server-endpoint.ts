import { abortable } from "../base/bounded-wait.ts";
import { invalidOption } from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { letGo } from "./read-answer.ts";

interface EndpointRequest {
  readonly method: "GET" | "POST" | "DELETE" | (string & {});
  readonly headers: Headers;
  readonly body?: BodyInit | null | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly init?: RequestInit;
}

/** Sends a request to the connection's one URL. */
export type SendToEndpoint = (request: EndpointRequest) => Promise<Response>;

const maxRedirects = 5;

/**
 * Sends to `url` and refuses redirects, because `fetch` would send `Mcp-Session-Id` to another origin.
 * (`redirect: "error"` throws on some edge runtimes before it sends anything.)
 *
 * @param options.redirect whether redirects within the origin are followed. Unless the request is a GET,
 *   only 307 and 308, because they keep method and body
 * @throws {McpSessionError} `REDIRECT_REFUSED`
 */
export function createSendToEndpoint({
  url,
  fetch,
  redirect,
}: {
  url: URL;
  fetch: typeof globalThis.fetch;
  redirect: "refuse" | "same-origin";
}): SendToEndpoint {
  return async ({ method, headers, body, signal, init }) => {
    let target = url;
    for (let redirects = 0; ; redirects += 1) {
      const response = await fetch(target.href, {
        ...init,
        method,
        headers,
        redirect: "manual",
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
      if (!isRedirect(response)) return response;
      await letGo(response);
      const next = redirectTarget(response, target);
      const keepsMethod = method === "GET" || response.status === 307 || response.status === 308;
      if (
        redirect !== "same-origin" ||
        redirects === maxRedirects ||
        !keepsMethod ||
        next?.origin !== url.origin
      ) {
        throw redirectRefused(method, url, response.status);
      }
      target = next;
    }
  };
}

/** The answer, or the signal's reason. A later answer is thrown away. */
export async function answerOrReason(
  sending: Promise<Response>,
  signal: AbortSignal,
): Promise<Response> {
  try {
    return await abortable(sending, signal);
  } catch (error) {
    // Some base fetches ignore the signal, so an answer may still come.
    sending.then((late) => late.body?.cancel(error)).catch(() => undefined);
    throw error;
  }
}

export function isRedirect(response: Response): boolean {
  return response.type === "opaqueredirect" || [301, 302, 303, 307, 308].includes(response.status);
}

function redirectTarget(response: Response, base: URL): URL | undefined {
  const location = response.headers.get("location");
  return location !== null && URL.canParse(location, base) ? new URL(location, base) : undefined;
}

export function redirectRefused(method: string, url: URL, status: number): McpSessionError {
  return new McpSessionError(
    "REDIRECT_REFUSED",
    `${method} ${url.origin} was answered with a redirect. It is not followed, because it could carry credentials elsewhere. Use the server's final URL, or redirect: "same-origin".`,
    { data: { method, origin: url.origin, status } },
  );
}

/**
 * The URL of a server's endpoint.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` if it is not an http(s) URL, or has credentials in it:
 *   `fetch` would refuse them with a message that repeats them
 */
export function parseEndpointUrl(value: string | URL): URL {
  const url = URL.canParse(String(value)) ? new URL(String(value)) : undefined;
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (isHttp && url.username === "" && url.password === "") return url;
  throw invalidOption(
    "url",
    "must be an absolute http(s) URL without credentials. Put credentials into headers",
  );
}
