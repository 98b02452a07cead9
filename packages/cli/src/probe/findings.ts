import type { Refusal } from "./refusal.ts";
import type { Ending } from "./open-sessions.ts";

/** `ok`, what durable-mcp hopes for; `note`, worth knowing; `warning`, costs something; `failed`, no answer. */
export type Outcome = "ok" | "note" | "warning" | "failed";

/** What one check has shown: a row of the table. */
export interface Row {
  readonly check: string;
  readonly outcome: Outcome;
  /** In sentences, for people. */
  readonly says: string;
}

/** What the checks know of a server behind a URL. What was not asked, or not answered, is missing. */
export interface Facts {
  /** An answer to `server/discover`. */
  modern?: { versions: readonly string[] };
  /** An answer to `initialize`. */
  handshake?: { version: string; hasSession: boolean };
  /** The transport of 2024-11-05. */
  oldTransport?: true;
  /** It answered, and not as an MCP server. */
  notMcp?: true;
  server?: { name: string; version: string; title?: string };
  /** As it declares them. */
  capabilities?: Readonly<Record<string, unknown>>;
  tools?: { names: readonly string[]; listChanged: boolean; ttlMs?: number };
  /** Whether it gives a second session beside the first. */
  manySessions?: boolean;
  unknownId?: Refusal;
  endedId?: Refusal & { ending: Ending };
  events?: "none" | "without ids" | "refused" | "accepted" | "replayed";
  listening?: { offered: boolean; survives?: boolean };
  /** Requests of a resumed step that makes one call. */
  resumedRequests?: number;
  authorization?: AuthorizationFacts;
  call?: { name: string; isError: boolean; ms: number };
}

export interface AuthorizationFacts {
  status: 401 | 403;
  /** Whether a credential was sent. */
  wasSent: boolean;
  issuer?: string;
  scopes?: readonly string[];
  /** How an application can become a client of the issuer. */
  registration?: readonly ("client ID metadata document" | "dynamic" | "pre-registered")[];
}
