import type { EnterpriseOptions, WorkloadOptions } from "../base/assertion-options.ts";
import type { OAuthEvent } from "../base/oauth-event.ts";
import type { Guard } from "../guard/guarded-fetch.ts";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";
import type { Client } from "../protocol/client.ts";
import type { Records } from "../records/records.ts";
import type { Nonces } from "./nonces.ts";

/** What the parts of one `createOAuth` share. */
export interface OAuthContext {
  readonly records: Records;
  /** The application's page where a sign-in begins. */
  readonly startUrl: URL;
  /** The OAuth requests of a resource. */
  readonly guard: (resource: URL) => Guard;
  /** Whether the application allows an authorization server. */
  readonly mayUse: (
    issuer: URL,
    use: { readonly url: URL; readonly connection: string },
  ) => boolean;
  readonly clients: ClientSource;
  /** The company's login, with the page where users have it. */
  readonly enterprise: (EnterpriseOptions & { readonly loginUrl: URL }) | undefined;
  readonly workload: WorkloadOptions | undefined;
  /** Whether tokens are bound to keys. */
  readonly dpop: "when-supported" | "required" | false;
  readonly nonces: Nonces;
  readonly emit: (event: OAuthEvent) => void;
  /** How long one request to an authorization server may take, in milliseconds. */
  readonly timeoutMs: number;
  /** In milliseconds since 1970-01-01 UTC. */
  readonly now: () => number;
}

/** This application as a client of authorization servers. */
export interface ClientSource {
  /** The client for a new sign-in, registered if need be. */
  readonly take: (
    server: AuthorizationServer,
    guard: Guard,
    signal: AbortSignal,
  ) => Promise<Client>;
  /** A client that was taken before; `undefined` if it is not known any more. */
  readonly find: (server: AuthorizationServer, used: UsedClient) => Promise<Client | undefined>;
  /** The client that an identity provider can name in an assertion: one that is not registered by itself. */
  readonly given: (server: AuthorizationServer) => Client | undefined;
  /** The client whose tokens come by the platform's identity. */
  readonly ofWorkload: ClientSource["ofApplication"];
  /** The client that has tokens of its own, without a user. */
  readonly ofApplication: (
    server: AuthorizationServer,
  ) => { readonly client: Client; readonly scopes: readonly string[] } | undefined;
  /** Whether there may be one. */
  readonly hasOwnTokens: boolean;
  /** Forgets a registration that the server does not know any more. */
  readonly forget: (server: AuthorizationServer, used: UsedClient) => Promise<void>;
}

/** The client of a sign-in. The application may have another callback by now, and another registration for it. */
interface UsedClient {
  readonly clientId: string;
  readonly redirectUrl?: string | undefined;
}

/** Whether a lease is held. One that would last for twice as long as any does is of a clock that is wrong. */
export function isHeld(
  lease: { readonly until: number } | undefined,
  { timeoutMs, now }: Pick<OAuthContext, "timeoutMs" | "now">,
): boolean {
  const leftMs = lease === undefined ? 0 : lease.until - now();
  return leftMs > 0 && leftMs <= 2 * leaseMs({ timeoutMs });
}

/** How long one process may keep others from refreshing or registering, in milliseconds. */
export function leaseMs({ timeoutMs }: Pick<OAuthContext, "timeoutMs">): number {
  return 3 * timeoutMs;
}
