import { abortable } from "../base/bounded-wait.ts";
import { invalidOption } from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import type { JsonRpcMessage } from "./json-rpc.ts";
import { letGo } from "./read-answer.ts";

/** What `fetch` takes first. Node has no `RequestInfo` without the types of browsers. */
type FetchInput = Parameters<typeof globalThis.fetch>[0];

/** A call of the session fetch, with `Request` and `init` merged. */
export interface OutgoingRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body?: RequestInit["body"];
  readonly signal?: AbortSignal | undefined;
  /** The other fields of `init`, passed on unchanged (`credentials`, undici's `dispatcher`). */
  readonly init?: RequestInit | undefined;
  /** Of a client of ours, which takes the answer as a message: gets the messages that come before it. */
  readonly take?: ((message: JsonRpcMessage) => void) | undefined;
}

/** The URL that a call of `fetch` is for. */
export function requestUrl(input: FetchInput): URL {
  return new URL(input instanceof Request ? input.url : String(input));
}

/** Whether a call of `fetch` is for this URL. Most name it letter by letter. */
export function isForEndpoint(input: FetchInput, url: URL): boolean {
  return input === url.href || isSameEndpoint(requestUrl(input), url);
}

/** The call as one object; a promise if the body of a `Request` has to be read first. */
export function readOutgoingRequest(
  input: FetchInput,
  init: RequestInit = {},
): OutgoingRequest | Promise<OutgoingRequest> {
  const request = input instanceof Request ? input : undefined;
  const { body = request?.body, signal: _, ...rest } = init;
  const outgoing = {
    method: (init.method ?? request?.method ?? "GET").toUpperCase(),
    headers: new Headers(init.headers ?? request?.headers),
    body,
    signal: init.signal ?? request?.signal ?? undefined,
    init: rest,
  };
  if (init.body != null || !request?.body) return outgoing;
  const reading = request.clone().text();
  return reading.then((text) => ({ ...outgoing, body: text }));
}

/** The body as text, if it can be read more than once. */
export function bodyText({ body }: OutgoingRequest): string | undefined {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) {
    return new TextDecoder().decode(body);
  }
  return undefined;
}

/** The connection's one URL, and the way to it. */
export interface Endpoint {
  readonly url: URL;
  /** The application's fetch, or the runtime's. */
  readonly fetch: typeof globalThis.fetch;
  /** How `fetch` is told to refuse a redirect. @default "manual", which every `fetch` understands */
  readonly refusal?: RefusalMode;
}

/**
 * Sends to the URL and refuses redirects, because `fetch` would send `Mcp-Session-Id` to another origin.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`
 */
export async function sendToEndpoint(
  { url, fetch, refusal = "manual" }: Endpoint,
  { method, headers, body, signal, init }: OutgoingRequest,
): Promise<Response> {
  const outgoing = { ...init, method, headers, redirect: refusal } as RequestInit;
  if (body !== undefined) outgoing.body = body;
  if (signal !== undefined) outgoing.signal = signal;
  let response;
  try {
    response = await fetch(url.href, outgoing);
  } catch (error) {
    throw isRedirectError(error) ? redirectRefused(method, url) : error;
  }
  if (!isRedirect(response)) return response;
  letGo(response);
  throw redirectRefused(method, url, response.status);
}

/**
 * Sends a request that is not for the connection's URL: OAuth discovery, registration and tokens. It
 * never carries a session id.
 *
 * `@ai-sdk/mcp` assumes that any custom fetch guards against foreign hosts, and drops its own check. So
 * requests to other origins are refused, unless the application passed a base fetch of its own.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`
 */
export async function fetchOtherUrl(
  { url: { origin }, fetch }: Endpoint,
  allowOtherOrigins: boolean,
  input: FetchInput,
  init: RequestInit = {},
): Promise<Response> {
  const request = input instanceof Request ? input : undefined;
  const headers = new Headers(init.headers ?? request?.headers);
  headers.delete("mcp-session-id");
  if (allowOtherOrigins) return await fetch(input, { ...init, headers });
  const url = requestUrl(input);
  const method = init.method ?? request?.method ?? "GET";
  if (url.origin !== origin) {
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `A request to ${url.origin} was refused: this connection only goes to ${origin}. To allow other origins, such as an authorization server, pass your own \`fetch\` that checks where requests go.`,
      { data: { reason: "other-origin", method, origin: url.origin } },
    );
  }
  const response = await fetch(input, { ...init, headers, redirect: "manual" });
  if (!isRedirect(response)) return response;
  throw redirectRefused(method, url, response.status);
}

export function isSameEndpoint(a: URL, b: URL): boolean {
  return a.origin === b.origin && a.pathname === b.pathname && a.search === b.search;
}

/** The answer, or the signal's reason. A later answer is thrown away. */
export async function answerOrReason(
  sending: Promise<Response>,
  signal: AbortSignal,
): Promise<Response> {
  try {
    return await abortable(sending, signal);
  } catch (error) {
    dropLate(sending, error);
    throw error;
  }
}

/** Throws an answer away that nobody waits for. Some base fetches ignore the signal, so it may still come. */
export function dropLate(sending: Promise<Response>, reason: unknown): void {
  sending.then((late) => late.body?.cancel(reason)).catch(() => undefined);
}

export function isRedirect(response: Response): boolean {
  return response.type === "opaqueredirect" || [301, 302, 303, 307, 308].includes(response.status);
}

export type RefusalMode = "error" | "manual";

/**
 * Sends requests of a connection that no redirect may carry elsewhere.
 *
 * @param own the application's fetch, if it has one
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` at a redirect
 */
export function refusingRedirects(
  connection: string,
  { origin }: URL,
  own: typeof globalThis.fetch | undefined,
) {
  const redirect = refusalMode(own);
  const refused = (status?: number) =>
    new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `Connection ${connection}: ${origin} answered with a redirect. It is not followed, because it could carry credentials elsewhere. Use the server's final URL.`,
      { data: { reason: "redirect", connection, origin, ...(status !== undefined && { status }) } },
    );
  /** @param isLeft whether a redirect is an answer like any other, which the caller refuses */
  return async (
    send: (redirect: RefusalMode) => Promise<Response>,
    isLeft = false,
  ): Promise<Response> => {
    const response = await send(redirect).catch((error: unknown) => {
      throw isRedirectError(error) ? refused() : error;
    });
    if (isLeft || !isRedirect(response)) return response;
    await response.body?.cancel();
    throw refused(response.status);
  };
}

/**
 * How a fetch is told to refuse redirects. Node's own refuses them itself with `"error"`. With any other mode it
 * clones the request and tees its body, which is a fifth of a call. Other runtimes may throw at `"error"` before they
 * send anything, and a fetch of the application may do as it likes.
 *
 * @param own the application's fetch, if it has one
 */
export function refusalMode(own: typeof globalThis.fetch | undefined): RefusalMode {
  const { process } = globalThis as { process?: { versions?: { undici?: string } } };
  // The major versions in which a refusal is worded as `isRedirectError` expects.
  const isKnown = /^[678]\./.test(process?.versions?.undici ?? "");
  return own === undefined && isKnown ? "error" : "manual";
}

/** Whether Node's own fetch refused a redirect. The error has no status. */
function isRedirectError(error: unknown): boolean {
  return error instanceof TypeError && String(error.cause) === "Error: unexpected redirect";
}

function redirectRefused(method: string, url: URL, status?: number): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `${method} ${url.origin} was answered with a redirect. It is not followed, because it could carry credentials elsewhere. Use the server's final URL.`,
    {
      data: {
        reason: "redirect",
        method,
        origin: url.origin,
        ...(status !== undefined && { status }),
      },
    },
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
  const fix = "must be an absolute http(s) URL without credentials. Put credentials into headers";
  throw invalidOption("url", fix);
}
