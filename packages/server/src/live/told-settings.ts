import { McpSessionError } from "@durable-mcp/core";
import type { JSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import type { ServerLink } from "./server-link.ts";
import type { SessionRecord } from "../records/session-record.ts";
import type { StoredSession } from "../records/stored-session.ts";

/** What a client tells a server once, and each of its successors must be told too. */
export interface ToldSettings {
  /**
   * Stores what a request that the server carried out has set.
   * @throws {McpSessionError} `STATE_INVALID` when that is too much, `STORE_FAILED`
   */
  remember(request: JSONRPCRequest): Promise<void>;
  /** The same for `notifications/initialized`, if it is in a body. */
  rememberInitialized(body: unknown): Promise<void>;
  /** Tells the server what is stored and it has not been told. */
  tell(record: SessionRecord): Promise<void>;
}

/** Characters of the URIs that a session is subscribed to. */
const maxSubscriptionsLength = 65_536;

/** That the client is initialized, its log level and its subscriptions, for one server. */
export function createToldSettings(
  stored: StoredSession,
  inject: ServerLink["inject"],
): ToldSettings {
  /** What this server knows. */
  const told = { initialized: false, logLevel: "", subscriptions: new Set<string>() };

  async function remember({ method, params }: JSONRPCRequest): Promise<void> {
    if (method === "logging/setLevel") {
      const logLevel = String(params?.["level"]);
      told.logLevel = logLevel;
      await stored.edit((record) => ({ ...record, logLevel }));
    }
    if (method !== "resources/subscribe" && method !== "resources/unsubscribe") return;
    const uri = String(params?.["uri"]);
    const isAdded = method === "resources/subscribe";
    const { subscriptions } = stored.record;
    if (isAdded && subscriptions.join("").length + uri.length > maxSubscriptionsLength) {
      throw new McpSessionError(
        "STATE_INVALID",
        "The session has too many subscriptions to remember another one.",
        { data: { method } },
      );
    }
    if (isAdded) told.subscriptions.add(uri);
    else told.subscriptions.delete(uri);
    await stored.edit((record) => {
      const others = record.subscriptions.filter((other) => other !== uri);
      return { ...record, subscriptions: isAdded ? [...others, uri] : others };
    });
  }

  async function rememberInitialized(body: unknown): Promise<void> {
    if (!includesInitialized(body)) return;
    told.initialized = true;
    await stored.edit((record) => ({ ...record, initialized: true }));
  }

  async function tell(record: SessionRecord): Promise<void> {
    if (record.initialized && !told.initialized) {
      told.initialized = true;
      await inject({ method: "notifications/initialized" });
    }
    if (record.logLevel !== undefined && record.logLevel !== told.logLevel) {
      told.logLevel = record.logLevel;
      const params = { level: record.logLevel };
      await inject({ method: "logging/setLevel", params, id: "answered" });
    }
    for (const uri of record.subscriptions) {
      if (told.subscriptions.has(uri)) continue;
      told.subscriptions.add(uri);
      await inject({ method: "resources/subscribe", params: { uri }, id: "answered" });
    }
    for (const uri of [...told.subscriptions]) {
      if (record.subscriptions.includes(uri)) continue;
      told.subscriptions.delete(uri);
      await inject({ method: "resources/unsubscribe", params: { uri }, id: "answered" });
    }
  }

  return { remember, rememberInitialized, tell };
}

function includesInitialized(body: unknown): boolean {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  return messages.some(
    (message) => (message as { method?: unknown } | null)?.method === "notifications/initialized",
  );
}
