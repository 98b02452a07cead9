import type { Principal, StoredValue } from "@durable-mcp/core";
import { once } from "../base/once.ts";
import type { McpClientConnection } from "../declare/define-connection.ts";
import { abortable } from "@durable-mcp/core/internal";
import { type Connections, hasSlot } from "../declare/mcp-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { createStepEvents } from "../events/step-events.ts";
import type { ConnectionRun } from "../run/connection-run.ts";
import type { StepRunOptions } from "../run/step-run.ts";
import { runInternalsOf } from "../run/run-internals.ts";
import { ownSlot } from "../records/step-slot.ts";
import type { Successor } from "../run/auto-session.ts";
import { runToEndOfStream } from "../run/read-to-end.ts";
import type { SessionUse } from "../management/durable-sessions.ts";
import { createNamesInStep } from "../sessions/names-in-step.ts";
import { createOpenedSlots, type OpenedSlots } from "../sessions/opened-slots.ts";
import { createOpenRun, type OpenRun } from "../sessions/open-run.ts";
import {
  leaveBefore,
  type SessionsContext,
  type StepContext,
  waitingSource,
} from "../sessions/sessions-context.ts";
import { checkSessionId, recordKey, recordName, recordOwner } from "../records/slot-record.ts";
import { loadStoredSlot, openStoredSlot, type StoredSlot } from "../sessions/stored-slot.ts";

/** Loads an agent session's MCP sessions and connects their tools. */
export async function openSession(
  context: SessionsContext,
  sessionId: string,
  { onUnavailable, ...given }: SessionUse,
): Promise<OpenRun<ConnectionRun<any>>> {
  const { abortSignal } = given;
  const use = { ...given, listsTools: true };
  const { run, close } = await beginRun(context, sessionId, use);
  try {
    await runInternalsOf(run)(({ begin }) => begin(onUnavailable));
    return createOpenRun(sessionId, run, abortSignal, close);
  } catch (error) {
    await close();
    throw error;
  }
}

interface RunUse extends Pick<SessionUse, "principal" | "abortSignal" | "endsAt"> {
  /** Whether all tools are listed at once. @default false */
  readonly listsTools?: boolean;
}

/** Loads an agent session's MCP sessions. Connects nothing yet. `close` closes the clients and saves. */
export async function beginRun(
  context: SessionsContext,
  sessionId: string,
  use: RunUse,
  successor?: Successor,
) {
  checkSessionId(sessionId);
  recordOwner(use.principal);
  use.abortSignal?.throwIfAborted();
  context.work.throwIfShutDown();
  const run = await loadRun(context, sessionId, use, successor);
  const close = once(async () => {
    await run.dispose();
    for (const forget of tracked) forget();
  });
  const tracked = [context.provider.work.track(close), context.work.track(close)];
  return { run, close };
}

async function loadRun(
  sessions: SessionsContext,
  sessionId: string,
  { principal, abortSignal, endsAt, listsTools }: RunUse,
  successor: Successor | undefined,
): Promise<ConnectionRun<any>> {
  const { provider, namespace, agent } = sessions;
  const declared = provider.declaredFor(principal);
  const pool = provider.poolFor([namespace, agent, sessionId]);
  const events = createStepEvents(provider.emit, sessionId);
  const emit = (event: ConnectionEvent) => sessions.tell(event, events.step);
  const leaveAt = leaveBefore(endsAt, sessions.now());
  const context: StepContext = { ...sessions, sessionId, abortSignal, leaveAt, emit };
  const opened = createOpenedSlots(context, []);
  try {
    const slotOf = await readSlots(context, opened, { principal, declared });
    sessions.work.throwIfShutDown();
    const slotFor = (connection: string) => ({ ...slotOf(connection), listsTools });
    const options = { declared, principal, events, pool, successor, slotFor, hasOwner: true };
    return createRunOnSlots(context, opened, options);
  } catch (error) {
    // The provider may have been shut down meanwhile.
    await opened.close(provider.closeTimeoutMs);
    throw error;
  }
}

/** The run of a step on its slots, in a store or a state. */
export function createRunOnSlots(
  context: StepContext,
  opened: OpenedSlots,
  options: Omit<StepRunOptions, "abortSignal" | "named" | "waiting" | "save" | "finish">,
): ConnectionRun<any> {
  const { provider, carried, abortSignal, work } = context;
  // Without a claim two processes could send one answer that waits in a state.
  const mayWait = carried === undefined || provider.claim !== undefined;
  const ends: ((isDone: boolean) => Promise<void>)[] = [];
  const atEnd = (end: (typeof ends)[number]) => void ends.push(end);
  return provider.createRun({
    ...{ ...options, abortSignal },
    named: createNamesInStep(context, opened),
    waiting: mayWait ? { ...waitingSource(context), atEnd } : undefined,
    save: (timeoutMs) => opened.close(timeoutMs),
    async finish(isFailed) {
      const isCut = abortSignal?.aborted || work.isShutDown() || provider.work.isShutDown();
      await Promise.allSettled(ends.map((end) => end(!isFailed && !isCut)));
    },
  });
}

/**
 * Reads the records of all connections that keep something, at once. A slot is made when it is used, but for those of
 * shared sessions.
 *
 * @throws {McpSessionError} `STORE_FAILED`
 */
async function readSlots(
  context: StepContext,
  opened: OpenedSlots,
  { principal, declared }: { readonly principal: Principal; readonly declared: Connections },
): Promise<(connection: string) => StoredSlot> {
  const names: string[] = [];
  const reading: Promise<StoredValue | StoredSlot | undefined>[] = [];
  for (const [connection, definition] of Object.entries(declared)) {
    if (!hasSlot(definition)) continue;
    const of = ownSlot(connection, definition);
    const key = recordKey(recordName(context, of), principal);
    names.push(connection);
    const isShared = of.shared !== undefined;
    const use = { principal, definition };
    reading.push(isShared ? loadStoredSlot(context, of, use) : context.store.get(key));
  }
  const found = await abortable(Promise.all(reading), context.abortSignal);
  return (connection) => {
    const known = found[names.indexOf(connection)];
    const definition = declared[connection] as McpClientConnection;
    const of = ownSlot(connection, definition);
    const use = { principal, definition };
    const isMade = known !== undefined && "slot" in known;
    const stored = isMade ? known : openStoredSlot(context, of, use, known);
    opened.hold(stored);
    return stored;
  };
}

/** Runs a step in an open run, and closes it after success and after failure. */
export async function runStep<T>(
  open: OpenRun<ConnectionRun<any>>,
  abortSignal: AbortSignal | undefined,
  step: (run: ConnectionRun<any>) => T | PromiseLike<T>,
): Promise<T> {
  // Later, because the calls under way are cancelled first, and a closed client cannot do that.
  const closeEarly = () => queueMicrotask(() => void open.close());
  const enter = async (inRun: () => Promise<void>) => {
    abortSignal?.addEventListener("abort", closeEarly, { once: true });
    try {
      await open.enter(inRun);
    } finally {
      abortSignal?.removeEventListener("abort", closeEarly);
      await open.dispose();
    }
  };
  return await runToEndOfStream(enter, () => step(open), abortSignal);
}
