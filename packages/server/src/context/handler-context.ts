import { createMemoryStore } from "@durable-mcp/core";
import { guarded } from "@durable-mcp/core/internal";
import { once } from "../base/once.ts";
import { withDefaults, withinStore } from "../base/settings.ts";
import { createStoreContext, type StoreContext } from "../records/store-context.ts";
import { createStoredStates, type StoredStates } from "../records/stored-states.ts";
import type { StoredSession } from "../records/stored-session.ts";
import { checkState } from "../state/json-state.ts";
import type { StoredState } from "../state/stored-state.ts";
import type { SessionEventIds } from "../streams/event-id.ts";
import { createDeclareLost, type DeclareLost } from "../streams/lost-calls.ts";
import { createMailbox, type Mailbox } from "../streams/mailbox.ts";
import { createStandaloneStreams, type StandaloneStreams } from "../streams/standalone-stream.ts";
import { type AskedCalls, createAskedCalls } from "../asked/asked-calls.ts";
import type { ResponseFormat, SessionHandlerOptions } from "../author/session-handler-options.ts";

/** The parts that all sessions of one handler share. */
export interface HandlerContext extends StoreContext {
  readonly standalone: StandaloneStreams;
  readonly mailbox: Mailbox;
  readonly asked: AskedCalls;
  /** The questions of a server cannot be stored: emits that, once. */
  readonly tellNotStored: () => void;
  readonly declareLost: DeclareLost;
  /** The states that are not in a session's record. */
  readonly states: StoredStates;
  /** A new state, checked. */
  readonly initialState: () => StoredState;
}

export function createHandlerContext<State extends object>(
  options: SessionHandlerOptions<State>,
): HandlerContext {
  const { now = Date.now, store = createMemoryStore({ now }) } = options;
  const settings = withinStore(withDefaults(options), store.maxBytes);
  const context = createStoreContext(store, settings, guarded(options.onEvent));
  const initialState = () =>
    checkState(options.initialState?.() ?? {}, settings.limits.stateBytes, "initialState()");
  return {
    ...context,
    initialState,
    states: createStoredStates(context.store, settings, initialState),
    standalone: createStandaloneStreams(context),
    mailbox: createMailbox(context),
    tellNotStored: once(() => context.emit({ type: "questions-not-stored" })),
    asked: createAskedCalls(context),
    declareLost: createDeclareLost(context),
  };
}

/** One live session, for its parts. */
export interface LiveContext extends HandlerContext {
  readonly sessionId: string;
  readonly stored: StoredSession;
  /** Tells it apart from live sessions of the same session in other processes. */
  readonly instance: string;
  readonly eventIds: SessionEventIds;
  readonly format: ResponseFormat;
  /** Aborts when the live session closes. */
  readonly closed: AbortSignal;
  /** Of its signals. */
  readonly topic: string;
}
