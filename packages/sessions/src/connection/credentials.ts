import { McpSessionError } from "@durable-mcp/core";
import {
  abortable,
  isRecord,
  noAnswer,
  timeLimited,
  type TokenProof,
} from "@durable-mcp/core/internal";
import type {
  ConnectionAuth,
  ConnectionToken,
  RefusedToken,
  TokenContext,
} from "../declare/credential-options.ts";
import type { ConnectionContext } from "../declare/connection-context.ts";
import type { PausableLimits } from "./pausable-limits.ts";
import type { McpClientConnection } from "../declare/define-connection.ts";
import { isHeaderName, isHeaderValue } from "../declare/connection-schemas.ts";
import { once } from "../base/once.ts";
import { authorizationRequired } from "../events/connection-error.ts";

type Definition = McpClientConnection["options"];

/** A token is no longer used this close to its expiry, in milliseconds. */
const expiryMarginMs = 10_000;

/** One answer of `getToken`. The object tells it from others with the same token. */
interface Answer {
  /** `undefined` if none is to be sent. */
  readonly token?: string | undefined;
  readonly expiresAt?: number | Date | undefined;
  readonly dpop?: TokenProof | undefined;
}

/** The application's headers and token for one connection, asked for once a step. */
export function createCredentials(
  { headers = {}, auth, timeouts: { answerMs = Infinity } = {} }: Definition,
  context: ConnectionContext,
  resource: Pick<TokenContext, "url" | "sessionId">,
  { now, inOwnTime }: { readonly now: () => number; readonly inOwnTime: InOwnTime },
) {
  let asking: Promise<Answer> | undefined;
  let current: Answer | undefined;

  const load = async (refused: RefusedToken | undefined, before: Answer | undefined) => {
    const askOnce = () =>
      inOwnTime("auth", () =>
        loadToken(auth!, { ...context, ...resource, refused, takesDpop: true }),
      );
    const answer = await whileRefreshed(askOnce, answerMs);
    // A token that lacks a scope still serves other requests.
    return answer.token === undefined && refused?.status === 403 ? { ...before } : answer;
  };
  const answerNow = async (refused?: RefusedToken, before?: Answer): Promise<Answer> => {
    const own = (asking ??= load(refused, before));
    try {
      return (current = await own);
    } catch (error) {
      if (asking === own) asking = undefined;
      throw error;
    }
  };

  return {
    headers: once(() => inOwnTime("headers", () => resolveHeaders(headers, context))),
    /** A token that still works; none without `auth`. */
    async token(): Promise<Answer> {
      if (auth === undefined) return {};
      if (current?.expiresAt != null && Number(current.expiresAt) - expiryMarginMs <= now()) {
        asking = current = undefined;
      }
      return await answerNow();
    },
    /**
     * Asks for another token, once for all requests that were refused with the same one.
     *
     * @returns `undefined` if there is no other
     */
    async tokenAfter(sent: Answer, refused: RefusedToken): Promise<Answer | undefined> {
      if (auth === undefined) return undefined;
      if (current === sent) asking = current = undefined;
      const answer = await answerNow(refused, sent);
      return [undefined, sent.token].includes(answer.token) ? undefined : answer;
    },
  };
}

/** A process that dies while it refreshes keeps others from it for three times as long as one waits for it. */
const mostTries = 4;

/**
 * Asks again while another process refreshes the token: a call would fail that only has to wait. It must not wait so
 * long that the call counts as unanswered, for the server was not asked.
 */
async function whileRefreshed<T>(load: () => Promise<T>, answerMs: number): Promise<T> {
  const begun = performance.now();
  for (let tries = 1; ; tries += 1) {
    try {
      return await load();
    } catch (error) {
      const isUnderWay =
        McpSessionError.isInstance(error) && error.data.reason === "refresh-under-way";
      const nextEndsAt = ((performance.now() - begun) * (tries + 1)) / tries;
      if (!isUnderWay || tries === mostTries || nextEndsAt >= answerMs) throw error;
    }
  }
}

export type Credentials = ReturnType<typeof createCredentials>;

/** Runs functions of the application within a time of their own. */
export type InOwnTime = <T>(field: string, work: () => Promise<T>) => Promise<T>;

/** @param paused stops the time limits for the server */
export function createOwnTime(
  { connection }: ConnectionContext,
  ms: number,
  paused: PausableLimits["paused"] = async (work) => await work(),
): InOwnTime {
  return async (field, work) => {
    const late = noAnswer(ms);
    const inTime = () => timeLimited(ms, undefined, (limit) => abortable(work(), limit), late);
    return await paused(inTime).catch((error: unknown) => {
      if (error !== late) throw error;
      throw new McpSessionError(
        "CONNECTION_UNAVAILABLE",
        `Connection ${connection}: ${field} gave nothing within ${ms} ms, and the server was not asked. The request was not sent. The next one asks again.`,
        { data: { field, connection } },
      );
    });
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
    const required = authorizationRequired(cause, connection);
    if (required !== undefined) throw required;
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

async function loadToken(auth: ConnectionAuth, context: TokenContext): Promise<Answer> {
  let field = "auth";
  let given: unknown =
    typeof auth === "function" ? await ask(field, context, () => auth(context)) : auth;
  if (typeof given === "string") given = { token: given };
  const source = given as { getToken?: (context: TokenContext) => unknown } | null | undefined;
  if (typeof source?.getToken === "function") {
    field = "auth.getToken";
    given = await ask(field, context, () => source.getToken!(context));
    if (given === undefined) return {};
  }
  const { token, expiresAt, dpop } = (given ?? {}) as Partial<ConnectionToken>;
  if (isHeaderValue(token) && token !== "") return { token, expiresAt, dpop };
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
