/** What a server asks for when it refuses a token, or a request without one. */
export interface BearerChallenge {
  /** Such as `invalid_token` or `insufficient_scope`. */
  readonly error?: string | undefined;
  /** Scopes, with spaces between them. */
  readonly scope?: string | undefined;
  /** The URL of the protected resource's metadata. */
  readonly resourceMetadata?: string | undefined;
  /** Whether the server takes tokens that are bound to a key: it has a challenge with the scheme `DPoP` (RFC 9449). */
  readonly takesProofs?: true | undefined;
}

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** A parameter, or else the scheme that begins the next challenge. */
const part = new RegExp(
  String.raw`(?:^|[\s,])(?:(${token})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|(${token}))|(${token})(?=\s|,|$))`,
  "g",
);

/** The challenge for tokens, be they bound to a key or not. */
export function bearerChallenge(headers: Headers): BearerChallenge | undefined {
  const bound = challengeOf(headers, "dpop");
  const challenge = challengeOf(headers, "bearer") ?? bound;
  return challenge && { ...challenge, ...(bound && { takesProofs: true }) };
}

/**
 * The challenge with a scheme in an answer's `WWW-Authenticate`; `undefined` without one. Of several the first
 * counts.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3
 * @see https://www.rfc-editor.org/rfc/rfc9728#section-5.1
 */
export function challengeOf(
  headers: Headers,
  wanted: "bearer" | "dpop",
): BearerChallenge | undefined {
  let parameters: Map<string, string> | undefined;
  for (const [, name, quoted, plain, scheme] of (headers.get("www-authenticate") ?? "").matchAll(
    part,
  )) {
    if (scheme !== undefined) {
      if (parameters !== undefined) break;
      if (scheme.toLowerCase() === wanted) parameters = new Map();
      continue;
    }
    const value = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain!;
    if (!parameters?.has(name!.toLowerCase())) parameters?.set(name!.toLowerCase(), value);
  }
  return (
    parameters && {
      error: parameters.get("error"),
      scope: parameters.get("scope"),
      resourceMetadata: parameters.get("resource_metadata"),
    }
  );
}
