import {
  createSessionFetch,
  McpSessionError,
  type OnSession,
  type SessionEvent,
  type SessionSlot,
} from "@durable-mcp/core";
import { detach, innerFetch, manageSlot, within } from "@durable-mcp/core/internal";
import { createConnectionFetch } from "../connection/connection-fetch.ts";
import { tellIfUnavailable } from "../events/connection-error.ts";
import { endRecord } from "../records/end-record.ts";
import { recordName } from "../records/slot-record.ts";
import { storeFailed } from "../records/stored-records.ts";
import type { EndedSession } from "../records/session-reports.ts";
import { type LoadedSlot, loadSlot, type OwnFetchOptions } from "./load-fetch-slot.ts";
import { checkFetchOptions, type OpenSessionFetchOptions } from "./session-fetch-options.ts";

/** A fetch whose session is kept in a store. */
export interface OpenSessionFetch {
  /** For any MCP client, and several at once. */
  readonly fetch: typeof globalThis.fetch;
  /** Saves, and makes the fetch unusable. The session goes on. A failure of the store is an event. */
  readonly close: () => Promise<void>;
  /**
   * Ends the session on its server, and removes it from the store. The fetch is unusable then.
   *
   * @throws {McpSessionError} `STORE_FAILED`
   */
  readonly end: (options?: { readonly timeoutMs?: number }) => Promise<EndedSession>;
  /** Returns `true` once after the session took the place of a lost one, whose contents the server no longer has. */
  readonly takeLossNotice: () => boolean;
}

/**
 * Opens the MCP session of an agent session and a principal, for any client that takes a `fetch`. Load, save, races of
 * processes, and recovery are done. A resumed session's first request is the client's first call.
 *
 * The record is the one of `createDurableSessions`: its `list`, `end` and `sweep` see it, and its `run` goes on in it.
 * While the fetch is kept, a call costs no operation of the store, and each minute of use two: it marks the session
 * as used, and takes up one that another process has saved in its place.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option; `PRINCIPAL_REQUIRED`; `STORE_FAILED`;
 *   `SESSION_LOST` with `create: false` where the store has none
 */
export async function openSessionFetch(
  options: OpenSessionFetchOptions,
): Promise<OpenSessionFetch> {
  checkFetchOptions(options);
  const { slot: _, save: __, another: ___, ...opened } = await openStoredFetch(options);
  return opened;
}

interface OpenStoredFetch extends OpenSessionFetch {
  readonly slot: SessionSlot;
  readonly save: () => Promise<void>;
  /** The fetch of another client of the same session. */
  readonly another: (own: OwnFetchOptions["own"]) => typeof globalThis.fetch;
}

/** The same, without the check of the options, and with the slot. */
export async function openStoredFetch(options: OwnFetchOptions): Promise<OpenStoredFetch> {
  const slot = await loadSlot(options);
  const { context, stored, connection, principal, definition, events } = slot;
  const life = createLife(options, slot);
  const ages = watchAge(options, slot);
  let closing: Promise<void> | undefined;
  const another = (own: OwnFetchOptions["own"]): typeof globalThis.fetch => {
    const fetch = createSessionFetch({
      ...fetchOptions(options),
      slot: stored.slot,
      fetch: innerFetch(async (input, init) => await life.send(input, init)),
      onSession: ages.dated,
      async findSession() {
        const found = await stored.findSession!();
        if (found) await options.onOther?.();
        return found;
      },
      // Most clients list first. The session and its tools are one write, which a kill leaves.
      toolList: { maxLength: stored.maxListLength, beforeSave: true },
      ...own?.(stored.slot),
      onEvent(event) {
        context.emit({ ...event, connection });
        ages.note(event);
      },
    });
    return async (input, init) => {
      if (closing !== undefined) throw closed(connection);
      life.noteUse();
      return await fetch(input, init).catch((error: unknown) => {
        tellIfUnavailable(context.emit, connection, error);
        throw error;
      });
    };
  };
  const fetch = another(options.own);
  life.begin(ages.replaceOld);
  const settle = async (save?: () => Promise<void>) => {
    await within(closeTimeoutMs, stored.slot.settle());
    await within(closeTimeoutMs, Promise.all([save?.(), stored.settle()]));
    life.over();
    events.end();
  };

  return {
    slot: stored.slot,
    save: () => stored.mark(),
    ...{ fetch, another },
    close: () => (closing ??= settle(() => stored.close().catch(life.tellFailure("close")))),
    async end({ timeoutMs } = {}) {
      await (closing ??= settle());
      const found = await context.store.get(stored.key);
      const name = recordName(context, { connection });
      const ending = { definition, principal, mode: "end", timeoutMs } as const;
      const ended = found && (await endRecord(context, name, found, ending));
      return ended ?? { connection, sessionId: context.sessionId, ended: true, removed: false };
    },
    takeLossNotice: () => stored.slot.takeLossNotice(),
  };
}

/** For the handshake under way, and for what is still to be saved or ended, each, in milliseconds. */
const closeTimeoutMs = 10_000;

/** The way to the server, and the marks of use, until the fetch is closed. */
function createLife(
  { headers, onOther }: OwnFetchOptions,
  { context, stored, connection, principal, server, client, secrets, events }: LoadedSlot,
) {
  const { sessionId, touchIntervalMs, now, emit } = context;
  const over = new AbortController();
  let isUsed = false;
  let timer: ReturnType<typeof setInterval> | undefined;
  const connect = () =>
    createConnectionFetch(
      server.options,
      { principal, connection, abortSignal: over.signal },
      {
        ...{ now, secrets, sessionId },
        onRequest(sent) {
          const isFirst = client.sent === undefined;
          client.sent = sent;
          // It may take the client's own credentials.
          if (isFirst) stored.endUnused();
          events.countRequest(connection);
        },
      },
    );
  let connected = connect();
  const tellFailure = (operation: "touch" | "close") => (cause: unknown) =>
    emit({ ...storeFailed(operation, cause), connection });
  return {
    tellFailure,
    send: (...request: Parameters<typeof globalThis.fetch>) => connected.fetch(...request),
    noteUse: () => void (isUsed = true),
    /** @param prepare called before each mark */
    begin(prepare: () => void) {
      timer = setInterval(() => {
        if (!isUsed && !manageSlot(stored.slot).isInUse()) return;
        isUsed = false;
        // They are asked once for each fetch of a connection.
        if (typeof headers === "function") connected = connect();
        prepare();
        void stored.mark().then(onOther, tellFailure("touch"));
      }, touchIntervalMs);
      // A forgotten fetch must not keep a Node process alive.
      detach(timer);
    },
    over() {
      clearInterval(timer);
      over.abort();
    },
  };
}

/** The options of the session fetch, which checks them. */
function fetchOptions(options: OwnFetchOptions) {
  const { url, listening, cancelOnAbort, recovery, timeouts, onStart, now } = options;
  return { url, listening, cancelOnAbort, recovery, timeouts, onStart, now };
}

/** Replaces a session that is older than `maxAgeMs`, and ends it. */
function watchAge(
  { maxAgeMs, own: ofClient, onOther }: OwnFetchOptions,
  { context: { emit, now }, stored, connection }: LoadedSlot,
) {
  const { slot } = stored;
  const isDated = maxAgeMs !== undefined || ofClient !== undefined;
  let { outdated } = stored;
  const replaced = (session: NonNullable<typeof outdated>) => {
    emit({ type: "discarded", connection, reason: "age" });
    stored.end(session);
  };
  const dated: OnSession = async (own) => {
    const saved = await stored.onSession!(isDated ? { ...own, startedAt: now() } : own);
    await onOther?.();
    return saved;
  };
  return {
    /** The save point, with the time from which the age counts. */
    dated,
    /** Ends the session of an earlier process once another has its place. */
    note({ type }: SessionEvent) {
      if (outdated === undefined || (type !== "recovered" && type !== "started")) return;
      replaced(outdated);
      outdated = undefined;
    },
    /** Between requests: the next one begins another. */
    replaceOld: () => {
      const [{ snapshot }, managed] = [slot, manageSlot(slot)];
      if (maxAgeMs === undefined || snapshot?.kind !== "session" || managed.isInUse()) return;
      if (now() - (snapshot.startedAt ?? now()) < maxAgeMs) return;
      managed.giveUp();
      replaced(snapshot);
    },
  };
}

function closed(connection: string): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: the fetch is closed. The request was not sent. Open another with openSessionFetch.`,
    { data: { connection } },
  );
}
