import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { startLoopbackServer } from "./loopback-server.ts";

export const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** A request to the token endpoint. */
export interface TokenRequest {
  readonly grantType: string;
  readonly parameters: URLSearchParams;
  readonly authorization: string | undefined;
}

/** What a token endpoint answers; `cut` breaks the connection. */
export type TokenAnswer =
  | {
      readonly status: number;
      readonly body: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | "cut";

/** What a test may change while the server runs. */
export interface HandMadeRules {
  /** Takes the place of fields of the authorization server's metadata. */
  metadata: Record<string, unknown>;
  /** Takes the place of fields of the protected resource's metadata. */
  resourceMetadata: Record<string, unknown>;
  accessTokenSeconds: number | undefined;
  rotates: boolean;
  /** How long a registered secret is good, in seconds. Without it the clients are public. */
  secretSeconds: number | undefined;
  /** Checks an assertion (RFC 7523). @returns the word of the refusal */
  checkAssertion: ((parameters: URLSearchParams) => Promise<string | undefined>) | undefined;
  /** The scopes of the next tokens. Without them they are those that were asked for. */
  grants: string | undefined;
  /** Takes the place of an answer; `usual` makes it. */
  onToken:
    | ((request: TokenRequest, usual: () => TokenAnswer) => TokenAnswer | Promise<TokenAnswer>)
    | undefined;
  onRevocation: (() => TokenAnswer) | undefined;
  /** Before any other answer. Returns whether it has answered. */
  onRequest: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
}

interface Code {
  readonly challenge: string;
  readonly clientId: string;
  readonly redirectUrl: string;
  readonly resource: string;
  readonly scope: string;
}

/**
 * An MCP server's metadata and its authorization server, at one origin, for what a real one cannot be made to do. It
 * checks PKCE, redirects and resources, uses a code once, and revokes a grant whose refresh token is used again.
 */
export async function startHandMadeServer(changes: Partial<HandMadeRules> = {}) {
  const rules: HandMadeRules = {
    metadata: {},
    resourceMetadata: {},
    accessTokenSeconds: 3_600,
    rotates: true,
    secretSeconds: undefined,
    checkAssertion: undefined,
    grants: undefined,
    onToken: undefined,
    onRevocation: undefined,
    onRequest: undefined,
    ...changes,
  };
  /** All that may be seen by nobody else: tokens, codes, states, verifiers, secrets of clients. */
  const secrets = new Set<string>();
  const tokenRequests: TokenRequest[] = [];
  const revoked: string[] = [];
  const codes = new Map<string, Code>();
  const refreshTokens = new Map<
    string,
    { readonly scope: string; isUsed: boolean; readonly grant: string }
  >();
  const accessTokens = new Map<string, string>();
  const deadGrants = new Set<string>();
  const registrations: Record<string, unknown>[] = [];
  const made = (kind: string) => {
    const secret = `${kind}-${randomUUID()}`;
    secrets.add(secret);
    return secret;
  };
  const issue = (scope: string, grant: string, withRefresh = true): TokenAnswer => {
    const [accessToken, refreshToken] = [made("access"), made("refresh")];
    accessTokens.set(accessToken, grant);
    if (withRefresh) refreshTokens.set(refreshToken, { scope, isUsed: false, grant });
    const { accessTokenSeconds, grants } = rules;
    return {
      status: 200,
      body: {
        access_token: accessToken,
        token_type: "Bearer",
        scope: grants ?? scope,
        ...(accessTokenSeconds !== undefined && { expires_in: accessTokenSeconds }),
        ...(withRefresh && { refresh_token: refreshToken }),
      },
    };
  };
  const usualAnswer = ({ grantType, parameters }: TokenRequest, wrong?: string): TokenAnswer => {
    const scope = parameters.get("scope") ?? "";
    if (parameters.get("resource") !== `${server.origin}/mcp`) return refusal("invalid_target");
    if (grantType === jwtBearer) {
      return wrong === undefined ? issue(scope, randomUUID()) : refusal(wrong);
    }
    if (grantType === "client_credentials") return issue(scope, randomUUID(), false);
    if (grantType === "authorization_code") {
      const code = codes.get(parameters.get("code") ?? "");
      codes.delete(parameters.get("code") ?? "");
      const verifier = parameters.get("code_verifier") ?? "";
      secrets.add(verifier);
      const isRight =
        code !== undefined &&
        code.challenge === createHash("sha256").update(verifier).digest("base64url") &&
        code.redirectUrl === parameters.get("redirect_uri");
      return isRight ? issue(code.scope, randomUUID()) : refusal("invalid_grant");
    }
    const known = refreshTokens.get(parameters.get("refresh_token") ?? "");
    if (known === undefined || deadGrants.has(known.grant)) return refusal("invalid_grant");
    if (known.isUsed) {
      deadGrants.add(known.grant);
      return refusal("invalid_grant");
    }
    if (!rules.rotates) return issue(known.scope, known.grant, false);
    known.isUsed = true;
    return issue(known.scope, known.grant);
  };
  const metadata = () => ({
    issuer: server.origin,
    authorization_endpoint: `${server.origin}/authorize`,
    token_endpoint: `${server.origin}/token`,
    registration_endpoint: `${server.origin}/register`,
    revocation_endpoint: `${server.origin}/revoke`,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    ...rules.metadata,
  });

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    if (rules.onRequest?.(request, response) === true) return;
    const { pathname } = new URL(request.url!, server.origin);
    const parameters = new URLSearchParams(body);
    if (pathname === "/.well-known/oauth-protected-resource/mcp") {
      const resource = { resource: `${server.origin}/mcp`, authorization_servers: [server.origin] };
      send(response, { status: 200, body: { ...resource, ...rules.resourceMetadata } });
    } else if (pathname === "/.well-known/oauth-authorization-server") {
      send(response, { status: 200, body: metadata() });
    } else if (pathname === "/register") {
      registrations.push(JSON.parse(body));
      const expiresAt = Math.floor(Date.now() / 1_000) + (rules.secretSeconds ?? 0);
      const secret =
        rules.secretSeconds === undefined
          ? { token_endpoint_auth_method: "none" }
          : {
              client_secret: made("client-secret"),
              client_secret_expires_at: expiresAt,
              token_endpoint_auth_method: "client_secret_post",
            };
      const client = {
        ...JSON.parse(body),
        client_id: `client-${registrations.length}`,
        ...secret,
      };
      send(response, { status: 201, body: client });
    } else if (pathname === "/token") {
      const grantType = parameters.get("grant_type") ?? "";
      const { authorization } = request.headers;
      const asked: TokenRequest = { grantType, parameters, authorization };
      tokenRequests.push(asked);
      const isAssertion = grantType === jwtBearer;
      const wrong = isAssertion ? await rules.checkAssertion?.(parameters) : undefined;
      const usual = () => usualAnswer(asked, wrong);
      send(response, await (rules.onToken?.(asked, usual) ?? usual()));
    } else if (pathname === "/revoke") {
      const token = parameters.get("token") ?? "";
      revoked.push(token);
      const grant = refreshTokens.get(token)?.grant ?? accessTokens.get(token);
      if (grant !== undefined) deadGrants.add(grant);
      send(response, rules.onRevocation?.() ?? { status: 200, body: {} });
    } else {
      send(response, { status: 404, body: { error: "not_found" } });
    }
  };
  const server = await startLoopbackServer((request, response) => void answer(request, response));

  return {
    ...server,
    rules,
    url: `${server.origin}/mcp`,
    issuer: server.origin,
    secrets,
    tokenRequests,
    registrations,
    revoked,
    /** The requests to the token endpoint that refresh. */
    refreshes: () => tokenRequests.filter(({ grantType }) => grantType === "refresh_token"),
    /** Whether an access token works. */
    accepts: (token: string | undefined) => {
      const grant = accessTokens.get(token ?? "");
      return grant !== undefined && !deadGrants.has(grant);
    },
    /** All refresh tokens are of no use any more. */
    revokeAll: () => {
      for (const { grant } of refreshTokens.values()) deadGrants.add(grant);
    },
    /** The user consents. @returns the callback's URL */
    consent: (authorizationUrl: string | URL): URL => {
      const asked = new URL(authorizationUrl).searchParams;
      const get = (name: string) => asked.get(name) ?? "";
      if (get("code_challenge_method") !== "S256") throw new Error("There is no PKCE.");
      const code = made("code");
      codes.set(code, {
        challenge: get("code_challenge"),
        clientId: get("client_id"),
        redirectUrl: get("redirect_uri"),
        resource: get("resource"),
        scope: get("scope"),
      });
      secrets.add(get("state"));
      const callback = new URL(get("redirect_uri"));
      callback.searchParams.set("code", code);
      callback.searchParams.set("state", get("state"));
      callback.searchParams.set("iss", server.origin);
      return callback;
    },
  };
}

export type HandMadeServer = Awaited<ReturnType<typeof startHandMadeServer>>;

const refusal = (error: string): TokenAnswer => ({ status: 400, body: { error } });

function send(response: ServerResponse, answer: TokenAnswer): void {
  if (answer === "cut") {
    response.destroy();
    return;
  }
  response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
  response.end(JSON.stringify(answer.body));
}
