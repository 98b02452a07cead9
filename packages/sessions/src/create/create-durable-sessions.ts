import { invalidOption, within } from "@durable-mcp/core/internal";
import { checkOptions } from "../base/check-options.ts";
import type { Connections } from "../declare/mcp-connection.ts";
import type { DurableSessions, DurableSessionsOptions } from "../management/durable-sessions.ts";
import type { SharedId } from "../records/session-reports.ts";
import { durableSessionsSchema, shutdownSchema, useSchema } from "../sessions/option-schemas.ts";
import { createOpenWork } from "../base/open-work.ts";
import {
  createInternals,
  internalsOf,
  type ProviderInternals,
} from "../sessions/provider-internals.ts";
import { createBoundedStore } from "../records/bounded-store.ts";
import { beginRun, openSession, runStep } from "./open-session.ts";
import {
  adminOf,
  type Management,
  managementOf,
  storedWaitingOf,
} from "../management/uses-outside-step.ts";
import { type SessionsContext, sessionsContexts } from "../sessions/sessions-context.ts";
import { checkSessionId, leastIdleMs } from "../records/slot-record.ts";
import type { ConnectionRun } from "../run/connection-run.ts";
import type { ToolFace } from "../run/tool-face.ts";
import { startAutoSession } from "../run/auto-session.ts";
import { runInternalsOf } from "../run/run-internals.ts";
import type { StoredAutoSessionOptions } from "../run/run-options.ts";

/**
 * Creates the sessions of an agent, kept in a store. Call it once, at start.
 *
 * @param face what a framework's package makes of the runs; with a `provider` its own
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createDurableSessions<
  CONNECTIONS extends Connections,
  RUN extends ConnectionRun<any> = ConnectionRun<CONNECTIONS>,
>(
  options: DurableSessionsOptions<CONNECTIONS>,
  face?: ToolFace,
): DurableSessions<CONNECTIONS, RUN> {
  const checked = checkOptions(durableSessionsSchema, options);
  const { context, own } = createSessionsContext(checked, face);
  const { work } = context;
  const { autoSession } = options;
  const management = managementOf(context);

  const sessions: DurableSessions<CONNECTIONS, any> = {
    open: async (sessionId, use) =>
      await openSession(context, sessionId, checkOptions(useSchema, use)),
    async run(sessionId, use, step) {
      const run = await openSession(context, sessionId, checkOptions(useSchema, use));
      return await runStep(run, use.abortSignal, step);
    },
    ...storedWaitingOf(context),
    ...(autoSession ? startStoredAutoSession(context, autoSession, management) : management),
    async shutdown(shutdown = {}) {
      const { timeoutMs = 10_000 } = checkOptions(shutdownSchema, shutdown);
      const closings = work.shutDown();
      await (own?.shutDown(timeoutMs) ?? within(timeoutMs, closings));
    },
    admin: adminOf(context),
  };
  sessionsContexts.set(sessions, context);
  return sessions;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
function createSessionsContext(options: DurableSessionsOptions<any>, face: ToolFace | undefined) {
  const { store, agent, share = false, touchIntervalMs = 60_000, onEvent } = options;
  const { clockSkewMs = 15 * touchIntervalMs, storeTimeoutMs = 15_000 } = options;
  if (agent !== undefined && share) {
    throw invalidOption(
      "agent",
      "cannot be combined with share: shared sessions belong to no agent",
    );
  }
  const own = createOwn(options, face);
  const provider = own ?? internalsOf(options.provider);
  const { now } = provider;
  const context: SessionsContext = {
    provider,
    store: createBoundedStore(store, storeTimeoutMs, now, provider.telemetry),
    agent: share ? null : (agent ?? "default"),
    namespace: provider.createNamespace(),
    touchIntervalMs,
    maybeInUseMs: leastIdleMs(touchIntervalMs) + clockSkewMs,
    tell: onEvent && !own ? provider.emitTo(onEvent) : provider.emit,
    now,
    work: createOpenWork("The durable sessions were"),
    async inRun(sessionId, use, inside) {
      const { run, close } = await beginRun(context, sessionId, use);
      try {
        return await runInternalsOf(run)(inside);
      } finally {
        await close();
      }
    },
  };
  /** `own` is the provider's if only these sessions use it. */
  return { context, own };
}

function createOwn(
  options: DurableSessionsOptions<any>,
  face: ToolFace | undefined,
): ProviderInternals<any> | undefined {
  const { provider, connections, pool, telemetry, closeTimeoutMs, onEvent, now } = options;
  if (provider === undefined) {
    if (connections !== undefined) {
      const own = { connections, pool, telemetry, closeTimeoutMs, onEvent, now };
      return createInternals(own, face);
    }
    throw invalidOption("connections", "is missing: give the connections, or a provider");
  }
  const given = { connections, pool, telemetry, closeTimeoutMs, now };
  for (const [option, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const fix = "cannot be combined with provider: give it to createConnectionProvider";
    throw invalidOption(option, fix);
  }
  return undefined;
}

/**
 * Makes the implicit run of a script on an agent session in the store.
 *
 * @returns a management that closes the run before it changes its sessions; the next use opens
 *   another
 * @throws {McpSessionError} as `startAutoSession`
 */
function startStoredAutoSession(
  context: SessionsContext,
  options: StoredAutoSessionOptions,
  management: Management,
): Management {
  const { provider, tell, work } = context;
  const { sessionId, principal } = options;
  checkSessionId(sessionId);
  const implicit = startAutoSession(options, {
    declared: () => provider.declaredFor(principal),
    async open(successor) {
      const { run, close } = await beginRun(context, sessionId, { principal }, successor);
      return { ...run, dispose: close };
    },
    ...{ emit: tell, face: provider.face },
    tracks: [provider.work.track, work.track],
  });
  const whileClosed =
    <REST extends unknown[], RESULT>(
      change: (of: string | SharedId, ...rest: REST) => Promise<RESULT>,
    ) =>
    async (of: string | SharedId, ...rest: REST) => {
      // It may use any of the shared ones.
      if (of === sessionId || typeof of !== "string") await implicit.dispose();
      return await change(of, ...rest);
    };
  return {
    ...management,
    restart: whileClosed(management.restart),
    clearTools: whileClosed(management.clearTools),
    end: whileClosed(management.end),
    async endAll(query) {
      await implicit.dispose();
      return await management.endAll(query);
    },
  };
}
