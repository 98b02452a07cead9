import { McpSessionError } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { ConnectionAuth, ConnectionToken } from "../connection/connection-options.ts";
import type { ConnectionContext } from "../connection/connection-context.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import { isHeaderName, isHeaderValue } from "../connection/option-schemas.ts";
import { once } from "../base/once.ts";

type Definition = McpClientConnection["options"];

/** A token is no longer used this close to its expiry, in milliseconds. */
const expiryMarginMs = 10_000;

/** The application's headers and token for one connection, asked for once a step. */
export function createCredentials(
  { headers = {}, auth }: Definition,
  context: ConnectionContext,
  now: () => number,
) {
  let loading: Promise<ConnectionToken> | undefined;
  let current: ConnectionToken | undefined;

  return {
    headers: once(() => resolveHeaders(headers, context)),
    /** A token that still works; `undefined` without `auth`. */
    async token(): Promise<string | undefined> {
      if (auth === undefined) return undefined;
      if (current?.expiresAt != null && Number(current.expiresAt) - expiryMarginMs <= now()) {
        loading = current = undefined;
      }
      const own = (loading ??= loadToken(auth, context));
      try {
        current = await own;
        return current.token;
      } catch (error) {
        if (loading === own) loading = undefined;
        throw error;
      }
    },
    /** Forgets a token that was refused, unless another has taken its place. */
    refused(token: string) {
      if (current?.token === token) loading = current = undefined;
    },
  };
}

/**
 * Calls a function of the application. Its failure must not look like a failure of the request, because
 * the request was not sent. A network error of the function would otherwise make the outcome of a tool
 * call unknown.
 */
export async function ask<T>(
  field: string,
  { connection, abortSignal }: ConnectionContext,
  question: () => T | Promise<T>,
  again = "The next one asks again.",
): Promise<T> {
  try {
    return await question();
  } catch (cause) {
    if (abortSignal.aborted || McpSessionError.isInstance(cause)) throw cause;
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `Connection ${connection}: ${field} failed; see the cause. The request was not sent. ${again}`,
      { data: { field, connection }, cause },
    );
  }
}

async function resolveHeaders(
  given: NonNullable<Definition["headers"]>,
  context: ConnectionContext,
): Promise<Record<string, string>> {
  const headers: unknown =
    typeof given === "function" ? await ask("headers", context, () => given(context)) : given;
  if (!isRecord(headers)) throw invalidAnswer("headers", context, "an object");
  const entries = Object.entries(headers).map(async ([name, value]) => {
    const field = `headers.${name}`;
    if (!isHeaderName(name)) throw invalidAnswer("headers", context, "names of HTTP headers");
    const resolved: unknown =
      typeof value === "function"
        ? await ask(field, context, () => value(context) as unknown)
        : await ask(field, context, () => value, "Give a function, which can be asked again.");
    if (isHeaderValue(resolved)) return [name, resolved] as const;
    throw invalidAnswer(field, context, "a string that is valid in a header");
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function loadToken(
  auth: ConnectionAuth,
  context: ConnectionContext,
): Promise<ConnectionToken> {
  let field = "auth";
  let given: unknown =
    typeof auth === "function" ? await ask(field, context, () => auth(context)) : auth;
  if (typeof given === "string") given = { token: given };
  const { getToken } = (given ?? {}) as { getToken?: (context: ConnectionContext) => unknown };
  if (typeof getToken === "function") {
    field = "auth.getToken";
    given = await ask(field, context, () => getToken(context));
  }
  const token = (given as ConnectionToken | null | undefined)?.token;
  if (isHeaderValue(token) && token !== "") return given as ConnectionToken;
  const expected = "{ token: string, expiresAt?: number | Date }, the token valid in a header";
  throw invalidAnswer(field, context, expected);
}

function invalidAnswer(field: string, { connection }: ConnectionContext, expected: string) {
  return new McpSessionError(
    "CONNECTION_INVALID",
    `Connection ${connection}: ${field} must return ${expected}.`,
    { data: { field, connection } },
  );
}
