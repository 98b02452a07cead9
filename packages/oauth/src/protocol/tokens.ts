import * as oauth from "oauth4webapi";
import { serverLimits } from "@durable-mcp/core/internal";
import { asServer, type AuthorizationServer } from "./authorization-server.ts";
import { type Client, clientOf } from "./client.ts";
import { readScopes } from "./scopes.ts";
import type { ServerAnswer } from "./server-request.ts";

/** What a token endpoint gave. */
export interface Tokens {
  readonly accessToken: string;
  /** In milliseconds since 1970, counted from when the request was sent. */
  readonly expiresAt?: number | undefined;
  /** Without one in the answer to a refresh, the old one stays good. */
  readonly refreshToken?: string | undefined;
  /** As granted. Without them in the answer, they are those that were asked for. */
  readonly scopes?: readonly string[] | undefined;
  /** Whether it is bound to the key of the request's proof. */
  readonly isBound: boolean;
}

/** A token that a header and a store take. @see https://www.rfc-editor.org/rfc/rfc6749#appendix-A.12 */
const sendable = /^[ -~]{1,65536}$/;

/** Seconds, up to thirty years. */
function isLifetime(value: unknown): boolean {
  const seconds = typeof value === "string" ? Number(value) : value;
  return typeof seconds === "number" && seconds >= 0 && seconds <= serverLimits.tokenSeconds;
}

/**
 * The tokens of a token endpoint's answer with status 200; otherwise what is wrong with it. An ID token is not looked
 * at: nothing here is decided by it.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.1
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-4
 */
export async function readTokens(
  { json, text }: ServerAnswer,
  {
    server,
    client,
    sentAt,
    binding,
  }: {
    server: AuthorizationServer;
    client: Client;
    sentAt: number;
    binding: "none" | "possible" | "required";
  },
): Promise<Tokens | { readonly wrong: string }> {
  if (json === undefined) {
    return { wrong: text === "" ? "the answer is empty" : "the answer is no JSON object" };
  }
  const type = json["token_type"];
  const kind = typeof type === "string" ? type.toLowerCase() : "bearer";
  const isBound = kind === "dpop" && binding !== "none";
  if (!isBound && kind !== "bearer") {
    return { wrong: "its tokens are no bearer tokens, nor bound to the key of a proof (DPoP)" };
  }
  if (!isBound && binding === "required") {
    return { wrong: 'its tokens are not bound to the key of the proof, and dpop is "required"' };
  }
  // Some servers write `null` for what they do not give, or -1 for a token without an end.
  const given = Object.entries(json).filter(
    ([name, value]) =>
      value !== null &&
      value !== "" &&
      name !== "id_token" &&
      (name !== "expires_in" || isLifetime(value)),
  );
  const response = Response.json(Object.fromEntries(given));
  try {
    const tokens = await oauth.processGenericTokenEndpointResponse(
      asServer(server),
      clientOf(client),
      response,
    );
    const { expires_in: seconds, scope } = tokens;
    const { access_token: access, refresh_token: refresh = " " } = tokens;
    if (![access, refresh].every((token) => sendable.test(token))) {
      return { wrong: "a token in it is too long, or has characters that no token may have" };
    }
    return {
      accessToken: tokens.access_token,
      expiresAt: seconds === undefined ? undefined : sentAt + seconds * 1_000,
      refreshToken: tokens.refresh_token,
      scopes: scope === undefined ? undefined : readScopes(scope),
      isBound,
    };
  } catch {
    // The error of `oauth4webapi` has the whole answer as its cause.
    return { wrong: "the answer does not have the fields of a token response (RFC 6749, 5.1)" };
  }
}
