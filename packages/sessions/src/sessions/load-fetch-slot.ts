import type { SessionFetchOptions, SessionSlot } from "@durable-mcp/core";
import { createConnectionSecrets } from "../connection/connection-secrets.ts";
import { createBoundedStore } from "../records/bounded-store.ts";
import { createTeller } from "../events/application-event.ts";
import { createStepEvents } from "../events/step-events.ts";
import {
  declare,
  nameOf,
  type OpenSessionFetchOptions,
  withCredentials,
} from "./session-fetch-options.ts";
import type { SlotContext } from "./sessions-context.ts";
import { loadStoredSlot } from "./stored-slot.ts";

/** What a client of its own kind adds. */
export type OwnFetchOptions = Omit<OpenSessionFetchOptions, "create"> & {
  readonly create?: boolean | "once" | undefined;
  /** Awaited before a request goes on in another session than the last one, and called after each mark of use. */
  readonly onOther?: (() => Promise<void>) | undefined;
  /** Options of core's fetch, for the slot. */
  readonly own?: (
    slot: SessionSlot,
  ) => Pick<SessionFetchOptions, "lasting" | "toolList" | "waiting">;
};

/** For one operation of the store, in milliseconds. */
const storeTimeoutMs = 15_000;

export type LoadedSlot = Awaited<ReturnType<typeof loadSlot>>;

/** The slot of a fetch, and what it is loaded with. @throws {McpSessionError} `STORE_FAILED` */
export async function loadSlot(options: OwnFetchOptions) {
  const { session: sessionId, principal, create, idleTimeoutMs, onEvent, own } = options;
  const { agent = "default", touchIntervalMs = 60_000, now = Date.now } = options;
  const connection = nameOf(options);
  const server = declare(options);
  const secrets = createConnectionSecrets();
  const events = createStepEvents(createTeller(undefined, onEvent), sessionId);
  const context: SlotContext = {
    ...{ agent, sessionId, touchIntervalMs, now, abortSignal: undefined },
    emit: (event) => events.emit(secrets.scrubEvent(event)),
    store: createBoundedStore(options.store, storeTimeoutMs, now),
    provider: { declaredFor: () => ({}) },
  };
  /** The headers of the client's last request to the server. */
  const client: { sent?: Headers } = {};
  const definition = withCredentials(server, () => client.sent);
  const use = { principal, definition, idleTimeoutMs, create, isOneClient: own !== undefined };
  const stored = await loadStoredSlot(context, { connection }, use);
  return { context, stored, connection, principal, server, definition, client, secrets, events };
}
