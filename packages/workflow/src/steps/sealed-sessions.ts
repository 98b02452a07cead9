import { endpointOf, isPausing } from "@durable-mcp/ai-sdk/internal";
import {
  sealState,
  type SealingKeys,
  type UnsealStateReason,
  unsealState,
} from "@durable-mcp/core/sealing";
import {
  type ConnectionEvent,
  createConnectionProvider,
  type McpClientConnection,
  McpSessionError,
} from "@durable-mcp/ai-sdk";
import { parseSessionSnapshot, sessionKey, type SessionSnapshot } from "@durable-mcp/core";
import { sessionOptionsOf, forCalls } from "./declared-connections.ts";
import {
  anySession,
  exceptTold,
  type StepConnection,
  type StepSessions,
  type UseRegistry,
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
      const before = keptBefore ?? undefined;
      const { result, snapshot } = await run(step, definition, stateOf(step, before), use);
      if (sessionOptionsOf(definition) === undefined) return { result, isReplacement: false };
      if (!snapshot || !hasTools(snapshot)) {
        return { result, slot: await seals.seal(step, snapshot ?? null), isReplacement: false };
      }
      const { toolList: _, replacesLost = false, ...kept } = { replacesLost: false, ...snapshot };
      const isReplacement = replacesLost || isOutOfReach(before, reason, definition);
      return { result, slot: await seals.seal(step, kept), isReplacement };
    },

    async call(step, use, { tool, tellLoss, record }) {
      const { definition } = step;
      if (isPausing(definition)) {
        const session = { state: await seals.unsealCalls(step, record) };
        const { result, state } = await runCall(step, forCalls(definition), session, use);
        const sealCalls = () => seals.sealCalls(step, state);
        return { result, isReplacement: false, sealCalls };
      }
      const isStateful = sessionOptionsOf(definition) !== undefined;
      const { kept } = isStateful ? await seals.unseal(step) : { kept: null };
      if (kept === undefined || (kept && !isUsable(kept, definition))) return undefined;
      const before = kept && hasTools(kept) ? forCall(kept, { tool, tellLoss, now }) : kept;
      const calling = forCalls(definition);
      const session = stateOf(step, before ?? undefined);
      const { result, snapshot } = await runCall(step, calling, session, use);
      // Of all changes by a call, only a loss matters to later steps.
      if (snapshot?.kind !== "lost") return { result, isReplacement: false, sealCalls: noCalls };
      const slot = await seals.seal(step, snapshot);
      return { result, slot, isReplacement: false, sealCalls: noCalls };
    },

    async end(step) {
      const { connection, definition, principal } = step;
      const { kept } = await seals.unseal(step);
      if (!kept) return;
      const connections = { [connection]: definition };
      const provider = createConnectionProvider({ connections, onEvent: emit, now });
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

    async sealCalls(step: StepConnection, calls: unknown): Promise<string> {
      return await sealed(step, { calls }, "the server's question");
    },
  };
}

const noCalls = async () => undefined;

/** A record of a call that waits is in the hands of one step at a time, and the step sends one leg. */
const stepIsClaim = () => true;

/** Uses a connection on a state, and returns the state and the snapshot that its registry committed. */
function createRunOnState({ emit, now }: Pick<SealedSessionsOptions, "emit" | "now">) {
  return async <T>(
    step: StepConnection,
    definition: McpClientConnection,
    session: { readonly state?: unknown },
    use: UseRegistry<T>,
  ) => {
    const { connection, principal } = step;
    const { seen, onEvent } = watchEvents(emit);
    const connections = { [connection]: definition };
    const provider = createConnectionProvider({ connections, onEvent, now, claim: stepIsClaim });
    const registry = provider.create({ ...session, principal, sessionId: step.sessionId });
    let result: T;
    try {
      result = await use(registry, seen);
    } finally {
      await registry.dispose();
    }
    const { state } = provider.commit(registry, session) as { state?: unknown };
    return { result, state, snapshot: snapshotIn({ state }, step) };
  };
}

type WithTools = SessionSnapshot & { readonly kind: "session" | "sessionless" };

/** Whether a tool list belongs to the snapshot. */
function hasTools(snapshot: SessionSnapshot): snapshot is WithTools {
  return "initializeResult" in snapshot;
}

/** A tool list with only the called tool, so that the client lists nothing. */
function forCall(
  session: WithTools,
  { tool, tellLoss, now }: { tool: string; tellLoss: boolean; now: () => number },
): SessionSnapshot {
  const tools = [{ name: tool, inputSchema: { type: "object" } }];
  const toolList = { tools, listedAt: now() };
  if (session.kind === "sessionless") return { ...session, toolList };
  return { ...session, toolList, ...(tellLoss && { replacesLost: true }) };
}

/** Whether a step can use it without a handshake that makes another session. */
function isUsable(snapshot: SessionSnapshot, definition: McpClientConnection): boolean {
  return snapshot.kind !== "lost" && snapshot.url === endpointOf(definition);
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

function stateOf(step: StepConnection, snapshot: SessionSnapshot | undefined): { state?: unknown } {
  return snapshot === undefined ? {} : { state: { mcpSessions: { [sessionKey(step)]: snapshot } } };
}

function snapshotIn(session: { state?: unknown }, step: StepConnection) {
  const { mcpSessions } = (session.state ?? {}) as {
    mcpSessions?: Record<string, SessionSnapshot>;
  };
  return mcpSessions?.[sessionKey(step)];
}
