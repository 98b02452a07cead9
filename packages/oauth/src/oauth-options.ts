import type { Principal, SessionStore } from "@durable-mcp/core";
import { invalidOption, isRecord, type OptionKinds, checkKnown } from "@durable-mcp/core/internal";
import type { SealingKeys } from "@durable-mcp/core/sealing";
import type { EnterpriseOptions, WorkloadOptions } from "./base/assertion-options.ts";
import type { OAuthClient } from "./base/oauth-client.ts";
import type { OAuthEvent } from "./base/oauth-event.ts";
import { isLoopbackUrl } from "./protocol/loopback-url.ts";
import { readScopes } from "./protocol/scopes.ts";

/** Given instead of `keys`, for a store whose readers may see tokens. */
export const unencrypted = "store tokens unencrypted";

/** A user who has just signed in. */
export interface SignedIn {
  readonly principal: Principal;
  readonly connection: string;
  /** The URL of the MCP server. */
  readonly url: string;
  /** The agent session that waits for the sign-in, if one does. */
  readonly sessionId?: string | undefined;
}

/** Options of `createOAuth`. */
export interface OAuthOptions {
  /** Keeps tokens, registrations and sign-ins under way, with compare-and-set. */
  readonly store: SessionStore;
  /**
   * Seal what is stored, each value bound to its key. `"store tokens unencrypted"`: for a store that is encrypted
   * already, or whose readers may have the tokens. A function is called on first use, so that a build needs no key.
   */
  readonly keys: SealingKeys | (() => SealingKeys) | typeof unencrypted;
  /** The application's route that ends sign-ins: https, or http on this computer. Authorization servers send users there. */
  readonly redirectUrl: string | URL;
  /** The application's route that begins sign-ins. @default `start` beside `redirectUrl` */
  readonly startUrl?: string | URL | undefined;
  /** The https URL of this application's client ID metadata document. Used where a server takes one. */
  readonly clientMetadataUrl?: string | URL | undefined;
  /** Registrations by hand, for servers that take no metadata document. */
  readonly clients?: readonly OAuthClient[] | undefined;
  /** Signs users in by their company's login, without a sign-in at each MCP server. @default none */
  readonly enterprise?: EnterpriseOptions | undefined;
  /**
   * Gets the application's own tokens by its platform's identity, except at issuers whose entry of `clients` has
   * `clientCredentials`. @default none
   */
  readonly workload?: WorkloadOptions | undefined;
  /**
   * Whether tokens are bound to a key that only this application has (DPoP, RFC 9449). `"when-supported"`: where the
   * MCP server and its authorization server support it. `"required"`: others are not used.
   * @default "when-supported"
   */
  readonly dpop?: "when-supported" | "required" | false | undefined;
  /** The application's name in dynamic client registration. @default none */
  readonly clientName?: string | undefined;
  /** Which of the issuers that an MCP server names may be used. @default all */
  readonly allowIssuers?:
    | readonly (string | URL)[]
    | ((issuer: URL, use: { readonly url: URL; readonly connection: string }) => boolean)
    | undefined;
  /** Whether host names may resolve to private addresses, as in a company network. @default false */
  readonly allowPrivateAddresses?: boolean | undefined;
  /**
   * Sends the OAuth requests, such as through a proxy. You vouch for the addresses.
   * @default one that checks addresses on Node, and `globalThis.fetch` elsewhere
   */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * Where the user goes after a sign-in: a URL of the application, or an answer of its own.
   * @default a small page that says that it is done
   */
  readonly onSignedIn?:
    | ((
        done: SignedIn,
      ) => Response | string | URL | undefined | Promise<Response | string | URL | undefined>)
    | undefined;
  /** Gets an event for each sign-in, refresh and refusal. @default warns on the console of failed sign-ins */
  readonly onEvent?: ((event: OAuthEvent) => void) | undefined;
  /**
   * How long one request to an authorization server may take, in milliseconds. One process may keep the others from
   * refreshing for three times as long. @default 10000
   */
  readonly timeoutMs?: number | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const httpUrl = (value: unknown, field: string) => {
  const text = String(value);
  const isUrl = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  if (!isUrl) throw invalidOption(field, "must be an http or https URL");
};

/** Parameters of the authorization request that nobody else sets. */
const ownParameters = new Set([
  ...["response_type", "client_id", "redirect_uri", "state", "scope", "resource"],
  ...["code_challenge", "code_challenge_method"],
]);

const clientChecks: OptionKinds<OAuthClient> = {
  issuer: httpUrl,
  clientId: "text",
  clientSecret: "text",
  privateKey: "anything",
  keyId: "text",
  tokenEndpointAuthMethod: {
    oneOf: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
  },
  authorizationParameters: (value, field) => {
    const isRight =
      isRecord(value) && Object.values(value).every((each) => typeof each === "string");
    if (!isRight) throw invalidOption(field, "must be an object of texts");
    const taken = Object.keys(value).find((name) => ownParameters.has(name));
    if (taken !== undefined) throw invalidOption(`${field}.${taken}`, "is set by this package");
  },
  clientCredentials: "flag",
  scopes: {
    test: (value) =>
      Array.isArray(value) &&
      value.every((scope) => typeof scope === "string") &&
      readScopes(value).length === value.length,
    fix: "must be a list of scopes",
  },
};

const {
  issuer: _i,
  authorizationParameters: _a,
  clientCredentials: _c,
  scopes: _s,
  ...atProvider
} = clientChecks;

const enterpriseChecks: OptionKinds<EnterpriseOptions> = {
  issuer: httpUrl,
  client: { options: atProvider, required: ["clientId"] },
  idToken: "function",
  loginUrl: httpUrl,
  isRequired: "flag",
};

const workloadChecks: OptionKinds<WorkloadOptions> = { assertion: "function" };
const clientList = { options: clientChecks, required: ["issuer", "clientId"] };

/**
 * @returns whether it leads to this computer
 * @throws {McpSessionError} `CONNECTION_INVALID` for an address to which no user should be sent back
 */
export const checkRedirectUrl = (value: unknown, field: string): boolean => {
  httpUrl(value, field);
  const url = new URL(String(value));
  const isLoopback = isLoopbackUrl(url);
  if (url.protocol !== "https:" && !isLoopback)
    throw invalidOption(field, "must be an https URL, or an http URL of this computer");
  if (String(value).includes("#")) throw invalidOption(field, "must have no fragment");
  return isLoopback;
};

const checks: OptionKinds<OAuthOptions> = {
  store: "store",
  keys: {
    either: [{ oneOf: [unencrypted] }, "function", "object"],
    is: `{ current, previous? }, a function that gives them, or "${unencrypted}"`,
  },
  redirectUrl: checkRedirectUrl,
  startUrl: httpUrl,
  clientMetadataUrl: (value, field) => {
    httpUrl(value, field);
    const { protocol, pathname } = new URL(String(value));
    const isRight = protocol === "https:" && pathname !== "/";
    if (!isRight) throw invalidOption(field, "must be an https URL with a path");
  },
  clients: { list: clientList, is: "a list of registrations" },
  enterprise: { options: enterpriseChecks, required: ["issuer", "client", "idToken"] },
  workload: { options: workloadChecks, required: ["assertion"] },
  dpop: { oneOf: ["when-supported", "required", false] },
  clientName: "text",
  allowIssuers: {
    either: ["function", { list: httpUrl, is: "a list of issuers" }],
    is: "a list of issuers, or a function",
  },
  allowPrivateAddresses: "flag",
  fetch: "function",
  onSignedIn: "function",
  onEvent: "function",
  timeoutMs: "ms",
  now: "function",
};

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the option */
export function checkOAuthOptions(options: OAuthOptions): void {
  checkKnown(options, checks, { required: ["store", "keys", "redirectUrl"] });
}
