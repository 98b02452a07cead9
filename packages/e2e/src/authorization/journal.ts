import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Provider } from "oidc-provider";
import type { JournalEntry, RequestEntry, RequestKind, TokenFault } from "./protocol.ts";

const kinds: Record<string, RequestKind> = {
  "GET /auth": "authorize",
  "POST /token": "token",
  "POST /reg": "registration",
  "POST /token/revocation": "revocation",
  "POST /token/introspection": "introspection",
  "GET /.well-known/oauth-authorization-server": "metadata",
  "GET /.well-known/openid-configuration": "metadata",
};

/** What a request to `oidc-provider` is about; `undefined` of pages and the like. */
export function kindOf({ method, url = "" }: IncomingMessage): RequestKind | undefined {
  return kinds[`${method} ${url.split("?", 1)[0]}`];
}

export interface Journal {
  readonly entries: JournalEntry[];
  record: (
    request: IncomingMessage,
    kind: RequestKind,
    parameters: URLSearchParams,
    fault?: TokenFault,
  ) => RequestEntry;
}

/** Puts requests on record, and what `provider` says of them. */
export function createJournal(provider: Provider): Journal {
  const entries: JournalEntry[] = [];
  const ofRequest = new WeakMap<IncomingMessage, RequestEntry>();
  provider.on("grant.error", ({ req }, { error }) => {
    const entry = ofRequest.get(req);
    if (entry) entry.error = error;
  });
  provider.on("grant.success", ({ req, body }) => {
    const entry = ofRequest.get(req);
    const issued = digestOf((body as { refresh_token?: string }).refresh_token);
    if (entry && issued !== undefined) entry.issuedRefreshToken = issued;
  });
  provider.on("grant.revoked", ({ oidc: { route } }) => {
    const by = route === "token" || route === "revocation" ? route : "other";
    entries.push({ kind: "grant-revoked", by });
  });
  return {
    entries,
    record: (request, kind, parameters, fault) => {
      const entry = describe(kind, parameters, fault);
      entries.push(entry);
      ofRequest.set(request, entry);
      return entry;
    },
  };
}

function describe(
  kind: RequestKind,
  parameters: URLSearchParams,
  fault: TokenFault | undefined,
): RequestEntry {
  const given = (name: string) => parameters.get(name) ?? undefined;
  return {
    kind,
    clientId: given("client_id"),
    grantType: given("grant_type"),
    resources: parameters.getAll("resource"),
    scope: given("scope"),
    state: digestOf(given("state")),
    challenge: digestOf(given("code_challenge")),
    code: digestOf(given("code")),
    verifier: digestOf(given("code_verifier")),
    refreshToken: digestOf(given("refresh_token")),
    fault,
  };
}

function digestOf(secret: string | undefined): string | undefined {
  return secret === undefined ? undefined : digest(secret);
}

/** What a journal has in the place of a secret. */
export function digest(secret: string): string {
  return createHash("sha256").update(secret).digest("hex").slice(0, 16);
}
