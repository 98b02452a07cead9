import type { Principal, SessionFetchOptions, SessionStore } from "@durable-mcp/core";
import { invalidOption } from "@durable-mcp/core/internal";
import { checkOptions, optionalOptions } from "../base/check-options.ts";
import type { McpClientConnectionOptions } from "../declare/connection-options.ts";
import { secretsOfUrl } from "../connection/connection-secrets.ts";
import { declareServer, type DeclaredClient } from "../declare/define-connection.ts";
import type { OnEvent } from "../events/application-event.ts";
import { connectionName } from "./check-connections.ts";

/** Options of `openSessionFetch`. Times are whole milliseconds. */
export interface OpenSessionFetchOptions
  extends
    Pick<McpClientConnectionOptions, "url" | "auth" | "headers" | "fetch">,
    Readonly<
      Pick<
        SessionFetchOptions,
        "listening" | "cancelOnAbort" | "recovery" | "timeouts" | "onStart" | "now"
      >
    > {
  /** Keeps the session, as it does for `createDurableSessions`. */
  readonly store: SessionStore;
  /** The id of the agent session: a chat, a run. */
  readonly session: string;
  /** On whose behalf. `{ type: "anonymous" }` for nobody. */
  readonly principal: Principal;
  /**
   * The name of the connection; a run whose connection has this name goes on in the session.
   * @default the address, if there can be no secret in it
   */
  readonly connection?: string | undefined;
  /** The `agent` of `createDurableSessions`. @default "default" */
  readonly agent?: string | undefined;
  /**
   * Whether a session begins where the store has none. `false`: the fetch goes on in what is kept, and replaces what
   * the server has lost, until somebody ends it. @default true
   */
  readonly create?: boolean | undefined;
  /** A sweep ends the session after this time without use. @default only a sweep of all sessions does */
  readonly idleTimeoutMs?: number | undefined;
  /** An older session is replaced by another, never while a request is under way. @default no limit */
  readonly maxAgeMs?: number | undefined;
  /** As for `createDurableSessions`. @default 60000 (1 minute) */
  readonly touchIntervalMs?: number | undefined;
  /** Gets the events. @default warns on the console */
  readonly onEvent?: OnEvent | undefined;
}

const schema = optionalOptions(
  {
    ...{ url: "anything", auth: "anything", headers: "anything", fetch: "anything" },
    ...{ listening: "anything", cancelOnAbort: "anything", recovery: "anything" },
    ...{ timeouts: "anything", onStart: "anything", now: "function", principal: "anything" },
    ...{ agent: "text", create: "flag", onEvent: "observer", touchIntervalMs: "ms" },
    ...{ idleTimeoutMs: "ms", maxAgeMs: "age" },
    connection: {
      test: (value) => typeof value === "string" && connectionName.test(value),
      fix: "must be a name as connections have",
    },
  },
  { store: "store", session: "text" },
);

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the option */
export function checkFetchOptions(options: OpenSessionFetchOptions): OpenSessionFetchOptions {
  return checkOptions(schema, options);
}

/** The name of the connection in the store, in events and on the command line, where no secret may stand. */
export function nameOf({
  connection,
  url,
}: Pick<OpenSessionFetchOptions, "connection" | "url">): string {
  if (connection !== undefined || !URL.canParse(String(url))) return connection ?? "";
  const address = new URL(url);
  if (address.search === "" && secretsOfUrl(address).length === 0) return address.href;
  throw invalidOption(
    "connection",
    "is missing: without it the address is the name, and this one may have a secret in it. Give the connection a name",
  );
}

/** What stands for the definition of a connection. */
export function declare(options: Omit<OpenSessionFetchOptions, "create">): DeclaredClient {
  const { url, auth, headers, fetch, timeouts, maxAgeMs } = options;
  const { initializeMs: connectMs, answerMs } = timeouts ?? {};
  const declared = declareServer({
    ...{ url, auth, headers, fetch, description: "A server behind a fetch." },
    session: { mode: "stateful", maxAgeMs },
    timeouts: { connectMs, answerMs },
  });
  return { type: "mcp-client", ...declared };
}

/** Fields of a message, and not of who sends it. */
const ofMessage = /^(?:content-|accept|mcp-|last-event-id$)/;

/** The same server, with the client's own headers for what the client does not send: the end of a session. */
export function withCredentials(
  { type, options }: DeclaredClient,
  sent: () => Headers | undefined,
): DeclaredClient {
  const { headers } = options;
  const merged: McpClientConnectionOptions["headers"] = async (context) => ({
    ...Object.fromEntries([...(sent() ?? [])].filter(([name]) => !ofMessage.test(name))),
    ...(typeof headers === "function" ? await headers(context) : headers),
  });
  return { type, options: { ...options, headers: merged } };
}
