import { randomToken, wait } from "@durable-mcp/core/internal";
import type { OAuthClient } from "../base/oauth-client.ts";
import type { OAuthEvent } from "../base/oauth-event.ts";
import { allowServer } from "../grants/ask-for-tokens.ts";
import { type ClientSource, isHeld, leaseMs } from "../grants/oauth-context.ts";
import type { Guard } from "../guard/guarded-fetch.ts";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";
import { chooseAuthMethod, type Client } from "../protocol/client.ts";
import { registerClient } from "../protocol/register-client.ts";
import type { Records } from "../records/records.ts";

/**
 * A registration in use is written anew after this time, in milliseconds: under the current key. Otherwise the key under
 * which it was made could never be dropped.
 */
const sealedAgainMs = 86_400_000;

interface ClientsOptions {
  readonly records: Records;
  readonly redirectUrl: URL;
  readonly clientMetadataUrl: URL | undefined;
  /** Registrations by hand. */
  readonly given: readonly OAuthClient[];
  readonly clientName: string | undefined;
  readonly emit: (event: OAuthEvent) => void;
  readonly timeoutMs: number;
  readonly now: () => number;
}

/**
 * This application as a client: by its metadata document where the server takes one, by a registration by hand, or by
 * a dynamic registration, which is made once and kept.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration
 */
export function createClients(options: ClientsOptions): ClientSource {
  const { records, redirectUrl, clientMetadataUrl, given, now } = options;
  const ofUsers = given.filter(({ clientCredentials }) => !clientCredentials);
  const own = given.filter(({ clientCredentials }) => clientCredentials);
  const byMetadata = (): Client | undefined =>
    clientMetadataUrl && { clientId: clientMetadataUrl.href, authMethod: "none" };
  const byName = (server: AuthorizationServer): Client | undefined =>
    (server.client_id_metadata_document_supported ? byMetadata() : undefined) ??
    byHand(ofUsers, server);
  const scopesAt = ({ issuer: at }: AuthorizationServer) =>
    [...own, ...ofUsers].find(({ issuer }) => issuer === at)?.scopes ?? [];
  const registered = async ({ issuer }: AuthorizationServer, callback = redirectUrl.href) => {
    const stored = await records.client(issuer, callback);
    const { client } = stored.record ?? {};
    const isCurrent = client && (client.expiresAt === undefined || client.expiresAt > now());
    return { stored, client: isCurrent ? client : undefined };
  };
  const useRegistered = async (server: AuthorizationServer, callback?: string) => {
    const { stored, client } = await registered(server, callback);
    const { writtenAt = 0 } = stored.record ?? {};
    // In a conflict another process has done so.
    if (client && now() - writtenAt >= sealedAgainMs) {
      await records.replace(stored, { ...stored.record!, writtenAt: now() });
    }
    return client;
  };

  return {
    async take(server, guard, signal) {
      const client = byName(server) ?? (await useRegistered(server));
      return client ?? (await registerOnce(options, server, guard, signal));
    },
    async find(server, { clientId, redirectUrl: callback }) {
      const known = [byMetadata(), byHand(ofUsers, server), byHand(own, server)];
      const found = known.find((client) => client?.clientId === clientId);
      if (found !== undefined) return found;
      const client = await useRegistered(server, callback);
      return client?.clientId === clientId ? client : undefined;
    },
    given: byName,
    ofWorkload(server) {
      const client = byName(server);
      return client && { client, scopes: scopesAt(server) };
    },
    ofApplication(server) {
      const client = byHand(own, server);
      return client && { client, scopes: scopesAt(server) };
    },
    hasOwnTokens: own.length > 0,
    async forget(server, { clientId, redirectUrl: callback }) {
      const { stored, client } = await registered(server, callback);
      if (client?.clientId === clientId) await records.remove(stored);
    },
  };
}

const byHand = (from: readonly OAuthClient[], server: AuthorizationServer) => {
  const found = from.find(({ issuer }) => issuer === server.issuer);
  return found && givenClient(server, found);
};

function givenClient(server: AuthorizationServer, given: OAuthClient): Client {
  const { clientId, clientSecret: secret, privateKey, keyId, tokenEndpointAuthMethod } = given;
  const { authorizationParameters } = given;
  const authMethod = chooseAuthMethod(server, {
    ...{ secret, privateKey, wanted: tokenEndpointAuthMethod },
  });
  return { clientId, secret, privateKey, keyId, authMethod, authorizationParameters };
}

/** Registers, while other processes that meet the server for the first time wait for the result. */
async function registerOnce(
  options: ClientsOptions,
  server: AuthorizationServer,
  guard: Guard,
  signal: AbortSignal,
): Promise<Client> {
  const { records, redirectUrl, clientName, emit, now } = options;
  const { issuer } = server;
  for (;;) {
    const stored = await records.client(issuer, redirectUrl.href);
    const { client, lease } = stored.record ?? {};
    if (client && (client.expiresAt === undefined || client.expiresAt > now())) return client;
    if (isHeld(lease, options)) {
      await wait(100, signal);
      continue;
    }
    const own = { token: randomToken(), until: now() + leaseMs(options) };
    const claimed = await records.replace(stored, { version: 1, issuer, lease: own });
    if (claimed === undefined) {
      await wait(Math.random() * 50, signal);
      continue;
    }
    try {
      allowServer(guard, server);
      const { fetch } = guard;
      const fresh = await registerClient({
        ...{ server, redirectUrl: redirectUrl.href, fetch, signal },
        ...(clientName !== undefined && { clientName }),
      });
      const kept = await records.replace(claimed, {
        version: 1,
        issuer,
        client: fresh,
        writtenAt: now(),
      });
      // Too late: another process has registered.
      if (kept === undefined) continue;
      emit({ type: "registered", issuer });
      return fresh;
    } catch (error) {
      await records.remove(claimed);
      throw error;
    }
  }
}
