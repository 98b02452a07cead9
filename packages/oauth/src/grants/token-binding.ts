import { McpSessionError } from "@durable-mcp/core";
import type { TokenProof } from "@durable-mcp/core/internal";
import type { JWK } from "jose";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";
import { createProof, takesProofs } from "../protocol/dpop-proof.ts";
import type { TokenBinding } from "../protocol/token-request.ts";
import type { GrantTokens, NoncesRecord } from "../records/grant-record.ts";
import type { Records, Stored } from "../records/records.ts";
import type { ResourceUse } from "./authorization-required.ts";
import type { OAuthContext } from "./oauth-context.ts";

/** @see https://www.rfc-editor.org/rfc/rfc9449#section-8.1 */
const noncePattern = /^[\u0021\u0023-\u005B\u005D-\u007E]{1,512}$/;
const dayMs = 86_400_000;
/** Of how many grants a process keeps the nonces. */
const maxKept = 1_000;

/** Whose nonce: the authorization server and the MCP server have their own, also at one origin. */
type Role = "authorization-server" | "resource";

/**
 * Whether new tokens are bound to a key: many authorization servers would, and their MCP servers know nothing of it.
 *
 * @param isTaken whether the MCP server takes such tokens
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if tokens must be bound, and the server binds none
 */
export function isToBind(
  { dpop }: OAuthContext,
  { connection }: ResourceUse,
  server: AuthorizationServer,
  isTaken: boolean | undefined,
): boolean {
  if (takesProofs(server)) return dpop === "required" || (dpop !== false && isTaken === true);
  if (dpop !== "required") return false;
  const { origin } = new URL(server.issuer);
  throw new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: ${origin} binds no tokens to keys (DPoP with ES256), and dpop is "required". Nothing was carried out.`,
    { data: { connection, origin, reason: "authorization-required", field: "dpop" } },
  );
}

/** Binds the tokens of a request to a key; `undefined` without one. */
export function bindingOf(
  context: OAuthContext,
  use: ResourceUse,
  key: JWK | undefined,
): TokenBinding | undefined {
  if (key === undefined) return undefined;
  const proof = createTokenProof(context, use, { key, role: "authorization-server" });
  return { proof, isRequired: context.dpop === "required" };
}

/** What sends a token of a grant to the MCP server; `undefined` for a bearer token. */
export function proofOf(
  context: OAuthContext,
  use: ResourceUse,
  { key, accessToken: token }: GrantTokens,
): TokenProof | undefined {
  return key && createTokenProof(context, use, { key, role: "resource", token });
}

function createTokenProof(
  { nonces }: OAuthContext,
  use: ResourceUse,
  { key, role, token }: { readonly key: JWK; readonly role: Role; readonly token?: string },
): TokenProof {
  return {
    async prove({ method, url, nonce: wanted }) {
      const nonce = wanted ?? (await nonces.of(use)).get(role);
      return {
        header: await createProof(key, { method, url, token, nonce }),
        takeNonce: async (given) => given !== nonce && (await nonces.take(use, role, given)),
      };
    },
  };
}

/** The last nonces that servers have said, shared by the application's processes. */
export type Nonces = ReturnType<typeof createNonces>;

export function createNonces(records: Records, now: () => number) {
  interface Known {
    readonly nonces: Map<string, string>;
    stored: Stored<NoncesRecord>;
  }
  const known = new Map<string, Promise<Known>>();

  const load = async ({ principal, resourceId }: ResourceUse): Promise<Known> => {
    const stored = await records.nonces(principal, resourceId);
    return { stored, nonces: new Map(Object.entries(stored.record?.nonces ?? {})) };
  };

  /** One read in the life of a process. */
  const of = (use: ResourceUse): Promise<Known> => {
    const name = JSON.stringify([use.resourceId, use.principal]);
    const loaded = known.get(name) ?? load(use);
    known.delete(name);
    known.set(name, loaded);
    // Whoever fails tries again.
    loaded.catch(() => known.delete(name));
    if (known.size > maxKept) known.delete(known.keys().next().value!);
    return loaded;
  };

  /** Best effort: whoever does not know a nonce is told it by the server. */
  const save = async (use: ResourceUse, own: Known): Promise<void> => {
    const record = { version: 1 as const, nonces: Object.fromEntries(own.nonces) };
    const saved = await records.replace(own.stored, record, now() + dayMs);
    own.stored = saved ?? (await records.nonces(use.principal, use.resourceId));
  };

  return {
    of: async (use: ResourceUse): Promise<ReadonlyMap<string, string>> => (await of(use)).nonces,
    /** @returns whether it is one */
    take: async (use: ResourceUse, role: Role, nonce: string): Promise<boolean> => {
      if (!noncePattern.test(nonce)) return false;
      const own = await of(use);
      if (own.nonces.get(role) === nonce) return true;
      own.nonces.set(role, nonce);
      await save(use, own).catch(() => undefined);
      return true;
    },
  };
}
