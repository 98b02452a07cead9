import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { OAuth } from "./create-oauth.ts";
import { signInMs } from "./grants/sign-out.ts";

type UsedOAuth = Pick<OAuth, "getToken" | "start">;

/** Whom eve acts for: its `ConnectionPrincipal`. */
type EvePrincipal =
  | { readonly type: "app" }
  | { readonly type: "user"; readonly id: string; readonly issuer?: string };

/** What eve says at each call: the user, and the URL of the MCP server. */
export interface EveUse {
  readonly principal: EvePrincipal;
  readonly connection: { readonly url: string };
}

/** eve's `TokenResult`. */
export interface EveToken {
  readonly token: string;
  /** In milliseconds since 1970-01-01 UTC. */
  readonly expiresAt?: number;
}

/**
 * eve's `InteractiveAuthorizationDefinition`. The store keeps a sign-in under way. A sign-in that fails throws eve's
 * `ConnectionAuthorizationFailedError`.
 */
export interface EveAuthorization {
  readonly principalType: "user";
  /** The principal's token. @throws eve's `ConnectionAuthorizationRequiredError` if the user has to sign in */
  getToken(use: EveUse): Promise<EveToken>;
  /** Starts a sign-in: returns the page to send the user to. */
  startAuthorization(use: EveUse & { readonly callbackUrl: string }): Promise<{
    readonly challenge: {
      readonly url: string;
      readonly expiresAt: string;
      readonly displayName?: string;
    };
  }>;
  /** Ends a sign-in with the parameters of the callback: returns the token. */
  completeAuthorization(
    use: EveUse & { readonly callback: { readonly params: Readonly<Record<string, string>> } },
  ): Promise<EveToken>;
  /** Called when the server has refused the token. */
  evict(use: EveUse): void;
}

/** Options of `createEveAuthorization`. */
export interface EveAuthorizationOptions {
  /** Your name of the server, such as the name of its file in `agent/connections`. */
  readonly connection: string;
  /** The server's name for people. @default eve makes one of the connection's */
  readonly displayName?: string | undefined;
  /** The issuer of users for whom eve names none. @default they have no tokens */
  readonly issuer?: string | undefined;
}

/**
 * Creates the `auth` of an eve connection: tokens and sign-ins of `createOAuth`, pauses and messages of eve. The
 * authorization server sends the user to `redirectUrl` of `createOAuth`, whose route checks whose browser it is and
 * goes on to eve's callback.
 *
 * @param oauth of `createOAuth`; or a function that makes it on first use, because eve also loads its files to build
 *
 * @example
 * // agent/connections/linear.ts
 * export default defineMcpClientConnection({
 *   url, description, auth: createEveAuthorization(oauth, { connection: "linear" }),
 * });
 */
export function createEveAuthorization(
  oauth: UsedOAuth | (() => UsedOAuth),
  options: EveAuthorizationOptions,
): EveAuthorization {
  const { connection: name, displayName } = options;
  const oauthOf = typeof oauth === "function" ? oauth : () => oauth;
  const tokens = createGivenTokens(oauthOf, options);
  return Object.freeze({
    principalType: "user",
    async getToken(use) {
      const found = await tokens.ask(use).catch((error: unknown) => {
        throw isSignInNeeded(error) ? required(name, error) : error;
      });
      // eve then asks the server without a token, and begins a sign-in where that is refused.
      if (found === undefined) throw required(name);
      return found;
    },
    async startAuthorization(use) {
      // After a refusal eve begins a sign-in at once, where another token may be all that is missing.
      const other = tokens.isAnotherUseless(use)
        ? undefined
        : await tokens.ask(use).catch(unlessSignInNeeded);
      if (other !== undefined) {
        throw failed(name, {
          reason: "token_renewed",
          why: "the server refused a token, and there is another one now. Nothing was carried out: make the same call again.",
        });
      }
      const { callbackUrl } = use;
      const started = await oauthOf().start(new Request(callbackUrl), {
        ...{ principal: userOf(use, options), connection: name, url: use.connection.url },
        ...{ returnUrl: callbackUrl, isBearer: true },
      });
      const url = started.headers.get("location");
      if (url === null) {
        throw failed(name, {
          reason: "sign_in_not_started",
          why: "its authorization server was not found, does not answer, or is not allowed.",
        });
      }
      const expiresAt = new Date(Date.now() + signInMs).toISOString();
      // eve 0.80.1 has a type for the name beside these functions, and refuses it there.
      return { challenge: { url, expiresAt, ...(displayName !== undefined && { displayName }) } };
    },
    async completeAuthorization(use) {
      const { error } = use.callback.params;
      if (error === "access_denied") {
        throw failed(name, { reason: error, why: "access was not granted.", isFinal: true });
      }
      // What was refused was so before the sign-in.
      tokens.forget(use);
      const found =
        error === undefined ? await tokens.ask(use).catch(unlessSignInNeeded) : undefined;
      if (found !== undefined) return found;
      throw failed(name, { reason: "sign_in_failed", why: "the user has not signed in." });
    },
    evict: tokens.refuse,
  } satisfies EveAuthorization);
}

/** The token that eve has been given last, for a user and a server. */
interface Given {
  readonly token: string;
  readonly isRefused: boolean;
  /** When it took the place of a refused one, in milliseconds since 1970-01-01 UTC. */
  readonly renewedAt?: number | undefined;
}

/** A server that refuses the new token, too, within this time is not helped by another one, in milliseconds. */
const renewalMs = 60_000;
const maxGiven = 1_000;

/**
 * The tokens that eve has been given in this process. It keeps one for a step, and after a refusal it does not say
 * which one was refused: it is the last.
 */
function createGivenTokens(oauth: () => UsedOAuth, options: EveAuthorizationOptions) {
  const given = new Map<string, Given>();
  return {
    /** `undefined` where nobody has signed in. A refused token is not given again. */
    async ask(use: EveUse): Promise<EveToken | undefined> {
      const [key, principal] = [keyOf(use), userOf(use, options)];
      const before = given.get(key);
      const refused = before?.isRefused ? { status: 401 as const, token: before.token } : undefined;
      const { connection } = options;
      const found = await oauth().getToken({
        ...{ principal, connection, url: use.connection.url, refused },
      });
      given.delete(key);
      if (found === undefined) return undefined;
      const { token } = found;
      const renewedAt = token === before?.token ? before.renewedAt : refused && Date.now();
      given.set(key, { token, isRefused: false, renewedAt });
      if (given.size > maxGiven) given.delete(given.keys().next().value!);
      return found;
    },
    refuse: (use: EveUse): void => {
      const held = given.get(keyOf(use));
      if (held !== undefined) given.set(keyOf(use), { ...held, isRefused: true });
    },
    /** Whether the server has just refused a token that took the place of another one. */
    isAnotherUseless(use: EveUse): boolean {
      const { isRefused, renewedAt = 0 } = given.get(keyOf(use)) ?? {};
      return isRefused === true && Date.now() - renewedAt < renewalMs;
    },
    forget: (use: EveUse) => void given.delete(keyOf(use)),
  };
}

function keyOf({ principal, connection }: EveUse): string {
  const user = principal.type === "user" ? [principal.issuer, principal.id] : [];
  return JSON.stringify([connection.url, ...user]);
}

function userOf({ principal }: EveUse, { connection, issuer }: EveAuthorizationOptions): Principal {
  const own = principal.type === "user" ? (principal.issuer ?? issuer) : undefined;
  if (principal.type === "user" && own !== undefined) {
    return { type: "user", issuer: own, id: principal.id };
  }
  throw failed(connection, {
    reason: "principal_required",
    why: "eve names no user, or no issuer of the user. Let the auth of the channel name both, or set `issuer`.",
    isFinal: true,
  });
}

function isSignInNeeded(error: unknown): error is McpSessionError {
  return McpSessionError.isInstance(error) && error.code === "AUTHORIZATION_REQUIRED";
}

function unlessSignInNeeded(error: unknown): undefined {
  if (!isSignInNeeded(error)) throw error;
}

/** eve knows its errors by their names. */
function required(connectionName: string, cause?: McpSessionError): Error {
  const message = cause?.message ?? `Connection ${connectionName}: nobody has signed in.`;
  const name = "ConnectionAuthorizationRequiredError";
  return Object.assign(new Error(message, { cause }), { name, connectionName });
}

interface Failure {
  readonly reason: string;
  readonly why: string;
  /** Whether another try makes no sense. */
  readonly isFinal?: true;
}

function failed(connectionName: string, { reason, why, isFinal }: Failure): Error {
  const name = "ConnectionAuthorizationFailedError";
  const error = new Error(`Connection ${connectionName}: the sign-in failed: ${why}`);
  return Object.assign(error, { name, connectionName, reason, retryable: !isFinal });
}
