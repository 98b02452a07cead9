import { endpointOf } from "@durable-mcp/ai-sdk/internal";
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
  exceptTold,
  type StepConnection,
  type StepSessions,
  type UseRegistry,
  watchEvents,
} from "./step-sessions.ts";

/** A slot belongs to an agent session. Without one it counts for any run of its principal. */
const anySession = "any run";

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
    async open(step, use) {
      const { definition } = step;
      const { kept: keptBefore, reason } = await seals.unseal(step);
      const before = keptBefore ?? undefined;
      const { result, snapshot } = await run(step, definition, before, use);
      if (sessionOptionsOf(definition) === undefined) return { result, isReplacement: false };
      if (snapshot?.kind !== "session") {
        return { result, slot: await seals.seal(step, snapshot ?? null), isReplacement: false };
      }
      const { toolList: _, replacesLost = false, ...kept } = snapshot;
      const isReplacement = replacesLost || isOutOfReach(before, reason, definition);
      return { result, slot: await seals.seal(step, kept), isReplacement };
    },

    async call(step, use, { tool, tellLoss }) {
      const { definition } = step;
      const isStateful = sessionOptionsOf(definition) !== undefined;
      const { kept } = isStateful ? await seals.unseal(step) : { kept: null };
      if (kept === undefined || (kept && !isUsable(kept, definition))) return undefined;
      const before = kept?.kind === "session" ? forCall(kept, { tool, tellLoss, now }) : kept;
      const calling = forCalls(definition);
      const { result, snapshot } = await runCall(step, calling, before ?? undefined, use);
      // Of all changes by a call, only a loss matters to later steps.
      if (snapshot?.kind !== "lost") return { result, isReplacement: false };
      return { result, slot: await seals.seal(step, snapshot), isReplacement: false };
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
      const { sealed } = await sealState({ slots }, { ...binding(step), expiresInMs });
      if (sealed !== undefined) return sealed;
      throw new McpSessionError(
        "STATE_INVALID",
        `Connection ${step.connection}: the server's answer to initialize is too large for the event log. Pass a store.`,
        { data: { connection: step.connection } },
      );
    },
  };
}

/** Uses a connection on a snapshot, and returns the snapshot that its registry committed. */
function createRunOnState({ emit, now }: Pick<SealedSessionsOptions, "emit" | "now">) {
  return async <T>(
    step: StepConnection,
    definition: McpClientConnection,
    before: SessionSnapshot | undefined,
    use: UseRegistry<T>,
  ) => {
    const { connection, principal } = step;
    const { seen, onEvent } = watchEvents(emit);
    const connections = { [connection]: definition };
    const provider = createConnectionProvider({ connections, onEvent, now });
    const session = stateOf(step, before);
    const registry = provider.create({ ...session, principal, sessionId: step.sessionId });
    let result: T;
    try {
      result = await use(registry, seen);
    } finally {
      await registry.dispose();
    }
    return { result, snapshot: snapshotIn(provider.commit(registry, session), step) };
  };
}

/** A tool list with only the called tool, so that the client lists nothing. */
function forCall(
  session: SessionSnapshot & { kind: "session" },
  { tool, tellLoss, now }: { tool: string; tellLoss: boolean; now: () => number },
): SessionSnapshot {
  const tools = [{ name: tool, inputSchema: { type: "object" } }];
  const toolList = { tools, listedAt: now() };
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
