import { createHash, randomUUID } from "node:crypto";
import { respond } from "./acts.ts";
import type { Exchange } from "./front.ts";

/** What a user has allowed. */
interface Grant {
  readonly scope: string;
  isRevoked: boolean;
}

const refused = () => respond({ error: "invalid_grant" }, 400);

/** The sign-in of a faulty server. */
export type SignIn = ReturnType<typeof createSignIn>;

/** The authorization server of a faulty server, and who may pass. */
export function createSignIn(origin: string, now: () => number, accessTokenSeconds: number) {
  const codes = new Map<string, { challenge: string; redirectUrl: string; grant: Grant }>();
  const accessTokens = new Map<string, { grant: Grant; expiresAt: number }>();
  const refreshTokens = new Map<string, { grant: Grant; isUsed: boolean }>();
  const counts = { registrations: 0, refreshes: 0, reuses: 0 };

  const issue = (grant: Grant) => {
    const [access_token, refresh_token] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    accessTokens.set(access_token, { grant, expiresAt: now() + accessTokenSeconds * 1_000 });
    refreshTokens.set(refresh_token, { grant, isUsed: false });
    const { scope } = grant;
    const expires_in = accessTokenSeconds;
    return respond({ access_token, refresh_token, token_type: "Bearer", expires_in, scope });
  };
  const redeemCode = (form: URLSearchParams) => {
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const verifier = form.get("code_verifier") ?? "";
    const isRight =
      code?.challenge === createHash("sha256").update(verifier).digest("base64url") &&
      code.redirectUrl === form.get("redirect_uri");
    return isRight ? issue(code.grant) : refused();
  };
  const refresh = (form: URLSearchParams) => {
    counts.refreshes += 1;
    const known = refreshTokens.get(form.get("refresh_token") ?? "");
    if (known === undefined || known.grant.isRevoked) return refused();
    if (known.isUsed) {
      counts.reuses += 1;
      known.grant.isRevoked = true;
      return refused();
    }
    known.isUsed = true;
    return issue(known.grant);
  };

  const routes: Record<string, (body: string) => Response> = {
    "/.well-known/oauth-protected-resource/mcp": () =>
      respond({ resource: `${origin}/mcp`, authorization_servers: [origin] }),
    "/.well-known/oauth-authorization-server": () =>
      respond({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
      }),
    "/register": (body) => {
      counts.registrations += 1;
      const client_id = `client-${counts.registrations}`;
      const own = { client_id, token_endpoint_auth_method: "none" };
      return respond({ ...(JSON.parse(body) as object), ...own }, 201);
    },
    "/token": (body) => {
      const form = new URLSearchParams(body);
      return form.get("grant_type") === "refresh_token" ? refresh(form) : redeemCode(form);
    },
  };

  return {
    /** Answers requests that are not for the MCP server, or must not pass. */
    guard: async ({ seen: { path, headers }, body }: Exchange): Promise<Response | undefined> => {
      const route = routes[path.split("?", 1)[0]!];
      if (route) return route(body);
      const token = /^Bearer (.*)$/.exec(headers.get("authorization") ?? "")?.[1] ?? "";
      const known = accessTokens.get(token);
      if (known && !known.grant.isRevoked && known.expiresAt > now()) return undefined;
      const challenge = respond({ error: "invalid_token" }, 401);
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      const said = `Bearer error="invalid_token", resource_metadata="${metadata}"`;
      challenge.headers.set("www-authenticate", said);
      return challenge;
    },
    /**
     * The user signs in and consents.
     *
     * @param authorizationUrl where the application sends the browser
     * @returns the callback that the browser opens then
     */
    consent: (authorizationUrl: string | URL): URL => {
      const asked = (name: string) => new URL(authorizationUrl).searchParams.get(name) ?? "";
      const code = `code-${randomUUID()}`;
      const grant = { scope: asked("scope"), isRevoked: false };
      const redirectUrl = asked("redirect_uri");
      codes.set(code, { challenge: asked("code_challenge"), redirectUrl, grant });
      const callback = new URL(redirectUrl);
      callback.search = String(new URLSearchParams({ code, state: asked("state"), iss: origin }));
      return callback;
    },
    /** Refuses the access tokens so far; refresh tokens work. */
    expireAccessTokens: () => accessTokens.clear(),
    /** How many clients have registered, how often tokens were refreshed, and how often a used refresh token came. */
    counts,
  };
}
