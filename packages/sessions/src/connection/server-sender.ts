import {
  bearerChallenge,
  asksFor,
  refusingRedirects,
  rewriteRefusal,
  scrubSessionId,
  sendWithToken,
} from "@durable-mcp/core/internal";
import type { RefusedToken } from "../declare/credential-options.ts";
import type { McpClientConnection } from "../declare/define-connection.ts";
import { authorizationRequired } from "../events/connection-error.ts";
import type { ConnectionSecrets } from "./connection-secrets.ts";
import type { Credentials } from "./credentials.ts";

/** Sends a request to the server, with these headers instead of its own. */
export type Send = (
  input: Parameters<typeof globalThis.fetch>[0],
  init: RequestInit,
  headers: Headers,
) => Promise<Response>;

interface SenderOptions {
  readonly credentials: Credentials;
  /** The definition's headers. */
  readonly ownHeaders: () => Promise<Record<string, string>>;
  /** Gets what is sent. */
  readonly secrets: ConnectionSecrets;
  readonly send: typeof globalThis.fetch;
  /** Called when the server has named a session in its answer to `initialize`. */
  readonly onSession: (() => void) | undefined;
}

/** Sends requests to the server of a connection, with the definition's headers and its token. */
export function createServerSender(
  connection: string,
  { url, fetch }: McpClientConnection["options"],
  { credentials, ownHeaders, secrets, send, onSession }: SenderOptions,
) {
  const endpoint = new URL(url);
  const unredirected = refusingRedirects(connection, endpoint, fetch);
  /** The status of the last answer to an `initialize`; tells an old server from a failure. */
  let initializeStatus: number | undefined;

  const sendOnce: Send = async (input, init, headers) => {
    const id = headers.get("mcp-session-id") ?? "";
    secrets.add(headers.get("authorization") ?? "", id);
    secrets.addProof(headers.get("dpop") ?? "");
    // `fetch` would send the definition's headers to another origin.
    const target = input instanceof Request ? input.clone() : input;
    const note = ({ status, ok, headers: own }: Response) => {
      if (!asksFor("initialize", init.body)) return;
      initializeStatus = status;
      if (ok && own.has("mcp-session-id")) onSession?.();
    };
    const response = await unredirected(async (redirect) => {
      const answer = await send(target, { ...init, headers, redirect });
      note(answer);
      return answer;
    }, init.redirect === "manual");
    // The session fetch reads of a loss where the id stood.
    return await rewriteRefusal(response, (text) => secrets.scrub(scrubSessionId(text, id)));
  };

  return {
    initializeStatus: () => initializeStatus,
    send: async (...[input, init, headers]: Parameters<Send>): Promise<Response> => {
      for (const [name, value] of Object.entries(await ownHeaders())) headers.set(name, value);
      const request = input instanceof Request ? input : undefined;
      const method = init.method ?? request?.method ?? "GET";
      const target =
        input === endpoint.href ? input : (request?.url ?? new URL(input as string | URL).href);
      const isRepeatable = !(init.body instanceof ReadableStream);
      return await withOtherToken(credentials, isRepeatable, async ({ token, dpop }) =>
        sendWithToken({ token, dpop, method, url: target, headers, isRepeatable }, () =>
          sendOnce(input, init, headers),
        ),
      );
    },
  };
}

/**
 * After a 401, or a 403 for lack of a scope, the request is sent once more if there is another token.
 * @param attempt sends it
 */
async function withOtherToken(
  credentials: Credentials,
  isRepeatable: boolean,
  attempt: (sent: Awaited<ReturnType<Credentials["token"]>>) => Promise<Response>,
): Promise<Response> {
  const sent = await credentials.token();
  const response = await attempt(sent);
  const refusal = refusalOf(response);
  if (refusal === undefined) return response;
  const other = await credentials.tokenAfter(sent, { ...refusal, token: sent.token });
  if (other === undefined || !isRepeatable) return response;
  await response.body?.cancel();
  const second = await attempt(other);
  const again = refusalOf(second);
  if (again?.status !== 401) return second;
  // It may have been revoked meanwhile. Where only the user can go on, its source says so.
  await credentials
    .tokenAfter(other, { ...again, token: other.token })
    .catch(async (error: unknown) => {
      if (authorizationRequired(error) === undefined) return;
      await second.body?.cancel();
      throw error;
    });
  return second;
}

/** Why a server refused, if another token may help. */
function refusalOf({ status, headers }: Response): Omit<RefusedToken, "token"> | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const challenge = bearerChallenge(headers);
  const isForToken = status === 401 || challenge?.error === "insufficient_scope";
  return isForToken ? { status, challenge } : undefined;
}
