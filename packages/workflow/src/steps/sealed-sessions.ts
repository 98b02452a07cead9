import { hasSlot } from "@durable-mcp/sessions/internal";
import {
  sealState,
  type SealingKeys,
  type UnsealStateReason,
  unsealState,
} from "@durable-mcp/core/sealing";
import {
  type ConnectionEvent,
  type McpClientConnection,
  McpSessionError,
} from "@durable-mcp/sessions";
import { createConnectionProvider } from "@durable-mcp/sessions";
import { parseSessionSnapshot, sessionKey, type SessionSnapshot } from "@durable-mcp/core";
import { isLost } from "@durable-mcp/core/internal";
import { sessionOptionsOf, forCalls } from "./declared-connections.ts";
import { forCall, forSlot, withoutList } from "./slot-content.ts";
import {
  anySession,
  exceptTold,
  type StepConnection,
  type StepSessions,
  type UseRun,
  watchEvents,
} from "./step-sessions.ts";

/** The content of a slot, or the reason why it was refused. */
interface Unsealed {
  readonly kept: Kept | undefined;
  readonly reason: UnsealStateReason | undefined;
}

/** The content of a slot: `null` if the connection is open and its server has nothing to keep. */
type Kept = SessionSnapshot | null;

interface SealedSessionsOptions {
  keys: SealingKeys;
  expiresInMs: number;
  emit: (event: ConnectionEvent) => void;
  emitRefused: (connection: string, reason: UnsealStateReason) => void;
  now: () => number;
}

/**
 * Keeps sessions in the run's event log, sealed. Each connection has a slot of its own, without the tool
 * list, because each call's step gets the slot.
 */
export function createSealedSessions(options: SealedSessionsOptions): StepSessions {
  const { emit, now } = options;
  const seals = createSeals(options);
  const run = createRunOnState(options);
  const runCall = createRunOnState({ emit: exceptTold(emit), now });

  return {
    keepsCalls: false,
    async open(step, use) {
      const { definition } = step;
      const { kept: keptBefore, reason } = await seals.unseal(step);
      const before = keptBefore ? withoutList(keptBefore) : undefined;
      const { result, snapshot } = await run(step, definition, stateOf(step, before), use);
      if (!hasSlot(definition)) return { result, isReplacement: false };
      const content = snapshot ? forSlot(snapshot) : null;
      if (content?.kind !== "session") {
        return { result, slot: await seals.seal(step, content), isReplacement: false };
      }
      const { replacesLost = false, ...kept } = content;
      const isReplacement = replacesLost || isOutOfReach(before, reason, definition);
      return { result, slot: await seals.seal(step, kept), isReplacement };
    },

    async call(step, use, { tool, tellLoss, record }) {
      const { definition } = step;
      const calling = forCalls(definition);
      const { kept } = hasSlot(definition) ? await seals.unseal(step) : { kept: null };
      const isStateful = sessionOptionsOf(definition) !== undefined;
      // Without a session there is none to open again: the server is asked anew.
      const isGone = kept === undefined || (kept && !isUsable(kept, definition));
      if (isStateful && isGone) return undefined;
      const before = kept ? told(forCall(kept, tool, now()), tellLoss) : undefined;
      const session = stateOf(step, before, await seals.unsealCalls(step, record));
      const { result, state, snapshot } = await runCall(step, calling, session, use);
      const sealCalls = () => seals.sealCalls(step, state);
      // Of all changes by a call, only a loss matters to later steps.
      const slot = snapshot && isLost(snapshot) ? await seals.seal(step, snapshot) : undefined;
      return { result, slot, isReplacement: false, sealCalls };
    },

    async end(step) {
      const { connection, definition, principal } = step;
      const { kept } = await seals.unseal(step);
      if (!kept) return;
      const connections = { [connection]: definition };
      const provider = createConnectionProvider({
        ...{ connections, onEvent: { every: emit }, now, claim: stepIsClaim },
      });
      const { results } = await provider.end(stateOf(step, kept), { principal });
      for (const { ended, status, reason } of results) {
        if (ended || reason === undefined || reason === "undeclared" || reason === "newer")
          continue;
        const answer = status === undefined ? {} : { status };
        emit({ type: "close-failed", connection, reason, ...answer });
      }
    },
  };
}

/** Seals and unseals the slots of steps. */
function createSeals({ keys, expiresInMs, emitRefused, now }: SealedSessionsOptions) {
  const binding = ({ principal, sessionId = anySession }: StepConnection) => ({
    keys,
    principal,
    sessionId,
    now,
  });
  const sealed = async (step: StepConnection, state: object, content: string) => {
    const result = await sealState(state, { ...binding(step), expiresInMs });
    if (result.sealed !== undefined) return result.sealed;
    throw new McpSessionError(
      "STATE_INVALID",
      `Connection ${step.connection}: ${content} is too large for the event log. Pass a store.`,
      { data: { connection: step.connection } },
    );
  };
  return {
    async unseal(step: StepConnection): Promise<Unsealed> {
      const { connection, slot } = step;
      const { state, reason } = await unsealState(slot, binding(step));
      if (reason !== undefined) emitRefused(connection, reason);
      const { slots } = (state ?? {}) as { slots?: Record<string, unknown> };
      const entry = slots?.[sessionKey(step)];
      // Only `seal` can have written it, perhaps the one of an older release.
      const kept = entry === undefined || entry === null ? entry : parseSessionSnapshot(entry);
      return { kept, reason };
    },

    async seal(step: StepConnection, kept: Kept): Promise<string> {
      const slots = { [sessionKey(step)]: kept };
      return await sealed(step, { slots }, "the server's answer to initialize");
    },

    /** @throws {McpSessionError} `NOT_WAITING` for a record that cannot be opened */
    async unsealCalls(step: StepConnection, record: string | undefined): Promise<unknown> {
      const { connection } = step;
      const { state, reason } = await unsealState(record, binding(step));
      if (reason === undefined) return (state as { calls?: unknown } | undefined)?.calls;
      emitRefused(connection, reason);
      throw new McpSessionError(
        "NOT_WAITING",
        `Connection ${connection}: the record of the call that waited cannot be opened (${reason}). The person's answer was not sent.`,
        { data: { connection } },
      );
    },

    async sealCalls(step: StepConnection, state: unknown): Promise<string> {
      // What the connection's slot has is no call.
      const { [sessionKey(step)]: _, ...mcpSessions } = entriesIn(state);
      return await sealed(step, { calls: { mcpSessions } }, "the call that waits");
    },
  };
}

/** A record of a call that waits is in the hands of one step at a time, and the step sends one leg. */
const stepIsClaim = () => true;

/** Uses a connection on a state, and returns the state and the snapshot that its run committed. */
function createRunOnState({ emit, now }: Pick<SealedSessionsOptions, "emit" | "now">) {
  return async <T>(
    step: StepConnection,
    definition: McpClientConnection,
    session: { readonly state?: unknown },
    use: UseRun<T>,
  ) => {
    const { connection, principal } = step;
    const { seen, onEvent } = watchEvents(emit);
    const connections = { [connection]: definition };
    const provider = createConnectionProvider({
      ...{ connections, now, claim: stepIsClaim },
      onEvent: { every: onEvent },
    });
    const run = provider.create({ ...session, principal, sessionId: step.sessionId });
    let result: T;
    try {
      result = await use(run, seen);
    } finally {
      await run.dispose();
    }
    const { state } = provider.commit(run, session) as { state?: unknown };
    return { result, state, snapshot: entriesIn(state)[sessionKey(step)] };
  };
}

/** The snapshot of a session whose next result tells the model of a loss, if there was one. */
function told(snapshot: SessionSnapshot, tellLoss: boolean): SessionSnapshot {
  return tellLoss && snapshot.kind === "session" ? { ...snapshot, replacesLost: true } : snapshot;
}

/** Whether a step can use it without a handshake that makes another session. */
function isUsable(snapshot: SessionSnapshot, definition: McpClientConnection): boolean {
  return !isLost(snapshot) && snapshot.url === new URL(definition.options.url).href;
}

/**
 * Whether a new session takes the place of one that no server has lost: it expired, or its key or its URL
 * is another now. A slot that belongs to somebody else does not count.
 */
function isOutOfReach(
  before: SessionSnapshot | undefined,
  reason: UnsealStateReason | undefined,
  definition: McpClientConnection,
): boolean {
  if (reason !== undefined) return reason === "expired" || reason === "unknown-key";
  return before?.kind === "session" && !isUsable(before, definition);
}

/** @param calls a state with waiting calls */
function stateOf(
  step: StepConnection,
  snapshot: SessionSnapshot | undefined,
  calls?: unknown,
): { state?: unknown } {
  if (snapshot === undefined) return calls === undefined ? {} : { state: calls };
  return { state: { mcpSessions: { ...entriesIn(calls), [sessionKey(step)]: snapshot } } };
}

function entriesIn(state: unknown): Record<string, SessionSnapshot | undefined> {
  return (
    (state as { mcpSessions?: Record<string, SessionSnapshot> } | undefined)?.mcpSessions ?? {}
  );
}
