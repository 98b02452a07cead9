import { appendFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { resourceServerClient } from "./protocol.ts";

interface IssuerMetadata {
  readonly [field: string]: unknown;
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly response_types_supported: string[];
  readonly introspection_endpoint: string;
}

/** Reads `--port` and `--issuer`, and asks the issuer who it is. */
export async function readLockedOptions() {
  const { port, issuer } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      issuer: { type: "string", default: "" },
    },
  }).values;
  const response = await fetch(new URL("/.well-known/oauth-authorization-server", issuer));
  const metadata = (await response.json()) as IssuerMetadata;
  return {
    port: Number(port),
    /** The resource. */
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    metadata,
    verify: createIntrospection(metadata),
  };
}

/** Asks the authorization server about each token (RFC 7662), so that a revoked one is refused at once. */
function createIntrospection({ introspection_endpoint: endpoint }: IssuerMetadata) {
  return async (token: string) => {
    const { id, secret } = resourceServerClient;
    const body = new URLSearchParams({ token, client_id: id, client_secret: secret });
    const response = await fetch(endpoint, { method: "POST", body });
    const said = (await response.json()) as { active: false } | TokenClaims;
    if (!said.active) return undefined;
    const { sub, client_id: clientId, scope = "", exp, aud, cnf } = said;
    return {
      key: cnf?.jkt,
      ...{ subject: sub, clientId, scopes: scope.split(" ").filter(Boolean) },
      ...{ expiresAt: exp, resource: new URL(aud) },
    };
  };
}

interface TokenClaims {
  readonly active: true;
  readonly sub: string;
  readonly client_id: string;
  readonly scope?: string;
  readonly exp: number;
  readonly aud: string;
  /** The key to which it is bound. */
  readonly cnf?: { readonly jkt: string };
}

/** Puts a message that is answered 401 or 403 on record, without what else was sent. */
export function recordRefusal(status: number, message: unknown): void {
  if (status !== 401 && status !== 403) return;
  const { method, params } = (message ?? {}) as { method?: string; params?: { name?: string } };
  // A GET has none; that of the test that waits for this server is one.
  if (method === undefined) return;
  const entry = { refused: status, method, tool: params?.name };
  appendFileSync(process.env["NOTEBOOK_JOURNAL"]!, `${JSON.stringify(entry)}\n`);
}
