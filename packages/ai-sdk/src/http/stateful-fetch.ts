import type { OAuthClientProvider } from "@ai-sdk/mcp";
import {
  createSessionFetch,
  type OnSession,
  type SessionEvent,
  type SessionSlot,
  type SessionStart,
} from "@durable-mcp/core";
import { abortable } from "@durable-mcp/core/internal";
import { needsListening } from "../connection/client-capabilities.ts";
import type { ConnectionContext } from "../connection/connection-options.ts";
import {
  connectTimeoutMs,
  type McpClientConnection,
  sessionOptions,
  startTimeoutMs,
} from "../connection/define-connection.ts";
import { mayRunTwice } from "../connection/may-run-twice.ts";
import { withSessionErrors } from "../errors/with-session-errors.ts";
import type { TraceOperation } from "../events/operation-tracer.ts";
import { openClient } from "./open-client.ts";

export interface StatefulFetchOptions {
  readonly definition: McpClientConnection;
  readonly context: ConnectionContext;
  readonly slot: SessionSlot;
  /** The slot of the session for the tools in `session.except`. */
  readonly exceptSlot: SessionSlot | undefined;
  readonly onSession: OnSession | undefined;
  readonly onEvent: (event: SessionEvent) => void;
  /** Sends requests to the server. */
  readonly fetch: typeof globalThis.fetch;
  readonly authProvider: () => Promise<OAuthClientProvider | undefined>;
  readonly restoreError: (error: unknown) => unknown;
  /** Whether the step goes on. Aborted calls are only cancelled then, not when clients close. */
  readonly isActive: () => boolean;
  /** `undefined` when nothing is traced. */
  readonly trace: TraceOperation | undefined;
  readonly now: () => number;
}

/** The session fetch of a stateful connection, for one client, with the definition's options. */
export function createStatefulFetch(own: StatefulFetchOptions): typeof globalThis.fetch {
  const { definition, slot, exceptSlot, trace } = own;
  const { url, fetch, redirect, timeouts } = definition.options;
  const session = sessionOptions(definition);
  const { except = [], onStart, toolList, resend, recover, classifyLoss, retrySameId } = session;
  return createSessionFetch({
    ...{ url, slot, redirect, toolList, resend, recover, classifyLoss, retrySameId },
    statelessMaxAgeMs: session.statelessMaxAgeMs,
    fetch: own.fetch,
    allowOtherOrigins: fetch !== undefined,
    listen: needsListening(definition),
    cancelOnAbort: own.isActive,
    isSafeToResend: (request) => mayRunTwice(request, session, slot.snapshot),
    except: exceptSlot && {
      slot: exceptSlot,
      matches: ({ method, params }) =>
        method === "tools/call" && except.some((tool) => tool === params?.["name"]),
    },
    onStart: onStart && ((start) => prepare(own, onStart, start)),
    onSession: own.onSession,
    aroundRecovery:
      trace &&
      ((recovery) =>
        trace({ operation: "recover" }, async (note) => {
          note({ refusedStatus: (await recovery()).status });
        })),
    timeouts: {
      initializeMs: connectTimeoutMs(definition),
      startMs: startTimeoutMs(definition),
      answerMs: timeouts?.answerMs,
    },
    onEvent: own.onEvent,
    now: own.now,
  });
}

type StartHook = NonNullable<ReturnType<typeof sessionOptions>["onStart"]>;

/** Runs `session.onStart` with a client on the new session. */
async function prepare(
  { definition, context, authProvider, restoreError }: StatefulFetchOptions,
  onStart: StartHook,
  { reason, fetch, abortSignal: startSignal }: SessionStart,
): Promise<void> {
  const abortSignal = AbortSignal.any([startSignal, context.abortSignal]);
  const startContext = { ...context, abortSignal };
  const client = await openClient({
    definition,
    context: startContext,
    fetch,
    sseFetch: undefined,
    headers: () => Promise.resolve(undefined),
    authProvider,
    isOldServer: () => false,
    onSseFallback: () => undefined,
  });
  try {
    const start = { ...startContext, reason, client: withSessionErrors(client, restoreError) };
    // Some hooks ignore their signal, and nobody would save their work after the step.
    await abortable(Promise.resolve(onStart(start)), abortSignal);
  } finally {
    await client.close();
  }
}
