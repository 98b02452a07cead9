import { McpSessionError } from "@durable-mcp/core";
import type { Answer, JSONRPCMessage, JSONRPCRequest } from "../base/mcp-types.ts";
import { createQueue } from "../base/queue.ts";
import type { SessionRecord } from "../records/session-record.ts";
import type { Effects } from "../records/stored-row.ts";
import type { FoundRow, StoredSession } from "../records/stored-session.ts";
import type { ServerLink } from "../author/server-link.ts";

/** JSON characters of the URIs to which a session is subscribed. */
const maxSubscriptionsLength = 65_536;

interface Told {
  initialized: boolean;
  logLevel: string;
  readonly subscriptions: Set<string>;
}

/**
 * Settings that a client tells its server once, and that each restored server must be told too:
 * whether the client is initialized, its log level and its subscriptions.
 */
export function createToldSettings(stored: StoredSession, inject: ServerLink["inject"]) {
  const inTurn = createQueue();
  /** The settings that this server knows. */
  const told: Told = { initialized: false, logLevel: "", subscriptions: new Set() };

  /**
   * The change of the record for a request that the server has carried out.
   * @throws {McpSessionError} `STATE_INVALID` for too many subscriptions
   */
  function editOf(
    { method, params }: JSONRPCRequest,
    answer: Answer,
  ): Effects<SessionRecord>["edit"] {
    if (!("result" in answer)) return undefined;
    if (method === "logging/setLevel") {
      const logLevel = String(params?.["level"]);
      told.logLevel = logLevel;
      return (record) => ({ ...record, logLevel });
    }
    if (method !== "resources/subscribe" && method !== "resources/unsubscribe") return undefined;
    const uri = String(params?.["uri"]);
    const isAdded = method === "resources/subscribe";
    const { subscriptions } = stored.record;
    if (isAdded && JSON.stringify([...subscriptions, uri]).length > maxSubscriptionsLength) {
      throw tooManySubscriptions(method);
    }
    if (isAdded) told.subscriptions.add(uri);
    else told.subscriptions.delete(uri);
    return (record) => {
      const others = record.subscriptions.filter((other) => other !== uri);
      return { ...record, subscriptions: isAdded ? [...others, uri] : others };
    };
  }

  /** Stores that the client is initialized, if one of the messages says so. */
  function rememberInitialized(messages: readonly JSONRPCMessage[]): Promise<unknown> | undefined {
    if (!messages.some(isInitialized)) return undefined;
    told.initialized = true;
    return stored.write({ edit: (record) => ({ ...record, initialized: true }) });
  }

  /** Tells the server the stored settings that it has not been told. */
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

  return {
    ...{ editOf, rememberInitialized },
    /** Brings the server up to a row that was read. A promise only when there is something to do. */
    follow: (newest: FoundRow): Promise<void> | undefined => {
      if (newest.revision === stored.revision && isCurrent(told, stored.record)) return undefined;
      stored.see(newest);
      return inTurn(() => tell(stored.record));
    },
  };
}

export type ToldSettings = ReturnType<typeof createToldSettings>;

/** Whether a server knows all settings of a record. */
function isCurrent(told: Told, { initialized, logLevel, subscriptions }: SessionRecord): boolean {
  if (initialized !== told.initialized) return false;
  if (logLevel !== undefined && logLevel !== told.logLevel) return false;
  if (subscriptions.length !== told.subscriptions.size) return false;
  return subscriptions.every((uri) => told.subscriptions.has(uri));
}

function tooManySubscriptions(method: string): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    `${method}: the URIs of the session's subscriptions would take more than ${maxSubscriptionsLength} characters. Unsubscribe from others first.`,
    { data: { method } },
  );
}

function isInitialized(message: JSONRPCMessage): boolean {
  return "method" in message && message.method === "notifications/initialized";
}
