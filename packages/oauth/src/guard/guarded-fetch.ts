import { connect } from "#guard/connect";
import { McpSessionError, type McpSessionErrorData } from "@durable-mcp/core";
import { abortable, letGo, timeLimited } from "@durable-mcp/core/internal";
import { readBounded } from "./bounded-answer.ts";
import type { Resolve } from "./connect.ts";
import { createTargetRules } from "./target.ts";

export interface GuardOptions {
  /** The URL of the MCP server. */
  readonly resource: URL;
  /** Makes the connections in place of the guard's own. It replaces the check of resolved addresses alone. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Whether DNS names may stand for private addresses. Link-local ones are refused all the same. @default false */
  readonly allowPrivateAddresses?: boolean | undefined;
  /** How long a request may take, with its answer, in milliseconds. @default 10 000 */
  readonly timeoutMs?: number | undefined;
  /** All addresses of a name, on Node. @default the system's */
  readonly resolve?: Resolve | undefined;
}

/** The way to the authorization server of one resource. */
export interface Guard {
  /** Sends to allowed origins, and reads the whole answer. */
  readonly fetch: typeof globalThis.fetch;
  /** Allows the origin of a URL: of an issuer, or of an endpoint that its metadata names. */
  allow(origin: string | URL): void;
}

/**
 * A `fetch` for the OAuth requests of one resource. The server names where they go, so each target is checked:
 * its origin, its scheme, and its address. On Node the address is checked when the connection is made, elsewhere
 * as far as the URL says. No redirect is followed, no cookie is kept, and an answer is 1 MiB at most. A connection
 * that fails, or takes too long, rejects with the error of `fetch`.
 *
 * @throws {McpSessionError} from its `fetch`: `CONNECTION_UNAVAILABLE` with the reason `other-origin` for a target that
 *   is refused, before anything was sent; with `redirect`; or for an answer that is too large
 * @see https://modelcontextprotocol.io/docs/2025-11-25/tutorials/security/security_best_practices#server-side-request-forgery-ssrf
 */
export function createGuardedFetch({
  resource,
  fetch: given,
  allowPrivateAddresses = false,
  timeoutMs = 10_000,
  resolve,
}: GuardOptions): Guard {
  const rules = createTargetRules(resource, allowPrivateAddresses);
  // What was not connected by then was certainly not sent.
  const connectMs = timeoutMs / 2;
  const send = given ?? connect(rules.checkAddress, { resolve, connectMs });

  const guardedFetch: typeof globalThis.fetch = async (input, init) => {
    const isRequest = input instanceof Request;
    const method = (init?.method ?? (isRequest ? input.method : "GET")).toUpperCase();
    const url = rules.check(method, isRequest ? input.url : String(input));
    const plain = await plainInit(input, init, method);
    const caller = init?.signal ?? (isRequest ? input.signal : undefined);
    return await timeLimited(timeoutMs, caller, async (signal) => {
      const sending = send(url.href, { ...plain, signal });
      const response = await answerOf(sending, signal).catch((error: unknown) => {
        throw refusalBehind(error, { method, origin: url.origin }) ?? error;
      });
      return await readBounded(response, { method, url }, signal);
    });
  };
  return { fetch: guardedFetch, allow: rules.allow };
}

/** The fields of a request that OAuth needs, as values that every `fetch` takes. */
async function plainInit(
  input: RequestInfo | URL,
  init: RequestInit | undefined,
  method: string,
): Promise<RequestInit> {
  const request = new Request(input, init);
  const hasBody = method !== "GET" && method !== "HEAD";
  return {
    method,
    headers: [...request.headers],
    redirect: "manual",
    credentials: "omit",
    ...(hasBody ? { body: await request.arrayBuffer() } : {}),
  };
}

/** The answer, or the signal's reason. A later answer is thrown away. */
async function answerOf(sending: Promise<Response>, signal: AbortSignal): Promise<Response> {
  try {
    return await abortable(sending, signal);
  } catch (error) {
    // Some fetches ignore the signal.
    if (signal.aborted) sending.then(letGo, () => undefined);
    throw error;
  }
}

/** What refused an address is the cause of an error of `fetch`. */
function refusalBehind(error: unknown, data: McpSessionErrorData): McpSessionError | undefined {
  if (!McpSessionError.isInstance(error)) {
    return error instanceof Error ? refusalBehind(error.cause, data) : undefined;
  }
  return new McpSessionError(error.code, error.message, { data: { ...error.data, ...data } });
}
