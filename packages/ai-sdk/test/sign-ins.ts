import {
  createMemoryStore,
  type JsonValue,
  McpSessionError,
  type Principal,
  principalParts,
  type SessionStore,
} from "@durable-mcp/core";
import type { TokenContext } from "../src/index.ts";
import type { Interceptor } from "../../sessions/test/notebook-server.ts";

/** What is kept of a principal at a resource. */
interface Grant {
  readonly token?: string;
  readonly scopes: readonly string[];
  /** Set while the user has to sign in. */
  readonly required?: { readonly scopes: readonly string[]; readonly askedAt: number };
}

const startUrl = "https://app.test/oauth/start";

const keyOf = (principal: Principal | undefined, url: string) =>
  JSON.stringify(["grant", url, ...principalParts(principal)]);

/**
 * Users who sign in, in a store that any process reads, and the server's side of it: `guard` lets requests through
 * whose token it knows. `tools/call` of a tool in `scopes` needs that scope.
 */
export function createSignIns({
  store = createMemoryStore(),
  scopes = {},
}: { store?: SessionStore; scopes?: Readonly<Record<string, string>> } = {}) {
  const known = new Map<string, readonly string[]>();
  let tokens = 0;
  const read = async (principal: Principal | undefined, url: string): Promise<Grant> => {
    const stored = await store.get(keyOf(principal, url));
    return (stored?.value as unknown as Grant | undefined) ?? { scopes: [] };
  };
  const write = async (principal: Principal | undefined, url: string, grant: Grant) => {
    const owner = JSON.stringify(principalParts(principal));
    const revision = (await store.get(keyOf(principal, url)))?.revision ?? null;
    await store.put(keyOf(principal, url), grant as unknown as JsonValue, revision, { owner });
  };

  const auth = {
    async getToken({ principal, connection, url, refused }: TokenContext) {
      const grant = await read(principal, url);
      const isRefused = refused !== undefined && refused.token === grant.token;
      if (grant.token !== undefined && !isRefused) return { token: grant.token };
      const asked = refused?.challenge?.scope?.split(" ") ?? [];
      const all = [...new Set([...grant.scopes, ...asked])];
      const { token, ...others } = grant;
      const kept = refused?.status === 403 && token !== undefined ? { token } : {};
      const required = { scopes: all, askedAt: grant.required?.askedAt ?? Date.now() };
      await write(principal, url, { ...others, ...kept, required });
      throw new McpSessionError(
        "AUTHORIZATION_REQUIRED",
        `Connection ${connection}: sign in at ${startUrl}.`,
        { data: { reason: "authorization-required", connection, scopes: all, startUrl } },
      );
    },
    async authorizationFor({ principal, url }: { principal: Principal; url: string }) {
      const { required } = await read(principal, url);
      return required && { ...required, startUrl };
    },
  };
  const guard: Interceptor = ({ headers, message }, response) => {
    const token = headers.authorization?.replace("Bearer ", "") ?? "";
    const refuse = (status: number, challenge: string) => {
      response.writeHead(status, { "www-authenticate": `Bearer ${challenge}` });
      response.end();
    };
    const granted = known.get(token);
    if (granted === undefined) return refuse(401, 'error="invalid_token"');
    const scope = message?.method === "tools/call" ? scopes[message.params.name] : undefined;
    if (scope === undefined || granted.includes(scope)) return "next";
    return refuse(403, `error="insufficient_scope", scope="${scope}"`);
  };
  return {
    ...{ store, auth, guard, startUrl },
    /** The user has signed in, and granted what was asked for. */
    async signIn(principal: Principal, url: string) {
      const { required, scopes: before } = await read(principal, url);
      tokens += 1;
      const granted = required?.scopes ?? before;
      known.set(`token-${tokens}`, granted);
      await write(principal, url, { token: `token-${tokens}`, scopes: granted });
    },
    /** The server takes no token of until now. */
    revokeAll: () => known.clear(),
  };
}
