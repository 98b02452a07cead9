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
import { sessionOptionsOf, withoutRecovery } from "./declared-connections.ts";
import {
  type StepConnection,
  type StepSessions,
  type UseRegistry,
  watchEvents,
} from "./step-sessions.ts";

/** A slot is of an agent session. Without one it counts for any run of its principal. */
const anySession = "any run";

/** What a slot held, or why it was refused. */
interface Unsealed {
  readonly kept: Kept | undefined;
  readonly reason: UnsealStateReason | undefined;
}

/** What is kept of a connection: `null` when it is open and its server has nothing to be kept. */
type Kept = SessionSnapshot | null;

/**
 * Sessions that the run's event log keeps, sealed: each connection's slot by itself, without its tool
 * list, because each call's step is given one.
 */
export function createSealedSessions({
  keys,
  expiresInMs,
  emit,
  emitRefused,
  now,
}: {
  keys: SealingKeys;
  expiresInMs: number;
  emit: (event: ConnectionEvent) => void;
  emitRefused: (connection: string, reason: UnsealStateReason) => void;
  now: () => number;
}): StepSessions {
  const binding = ({ principal, sessionId = anySession }: StepConnection) => ({
    keys,
    principal,
    sessionId,
    now,
  });

  const unseal = async (step: StepConnection): Promise<Unsealed> => {
    const { connection, principal, slot } = step;
    const { state, reason } = await unsealState(slot, binding(step));
    if (reason !== undefined) emitRefused(connection, reason);
    const entry = (state as { slots?: Record<string, unknown> } | undefined)?.slots?.[
      sessionKey({ connection, principal })
    ];
    // Only `seal` can have written it, perhaps that of an older release.
    const kept = entry === undefined || entry === null ? entry : parseSessionSnapshot(entry);
    return { kept, reason };
  };

  const seal = async (step: StepConnection, kept: Kept): Promise<string> => {
    const slots = { [sessionKey(step)]: kept };
    const { sealed } = await sealState({ slots }, { ...binding(step), expiresInMs });
    if (sealed !== undefined) return sealed;
    throw new McpSessionError(
      "STATE_INVALID",
      `Connection ${step.connection}: what the server says of itself is too large to be kept in the event log. Use a store.`,
      { data: { connection: step.connection } },
    );
  };

  const run = async <T>(
    step: StepConnection,
    definition: McpClientConnection,
    snapshot: SessionSnapshot | undefined,
    use: UseRegistry<T>,
  ) => {
    const { connection, principal } = step;
    const { seen, onEvent } = watchEvents(emit);
    const connections = { [connection]: definition };
    const provider = createConnectionProvider({ connections, onEvent, now });
    const session = stateOf(step, snapshot);
    const registry = provider.create({ ...session, principal });
    let result: T;
    try {
      result = await use(registry, seen);
    } finally {
      await registry.dispose();
    }
    return { result, snapshot: snapshotIn(provider.commit(registry, session), step) };
  };

  return {
    async open(step, use) {
      const { definition } = step;
      const { kept: keptBefore, reason } = await unseal(step);
      const before = keptBefore ?? undefined;
      const { result, snapshot } = await run(step, definition, before, use);
      if (sessionOptionsOf(definition) === undefined) return { result, isReplacement: false };
      if (snapshot?.kind !== "session") {
        return { result, slot: await seal(step, snapshot ?? null), isReplacement: false };
      }
      const { toolList: _, replacesLost = false, ...kept } = snapshot;
      const isReplacement = replacesLost || isOutOfReach(before, reason, definition);
      return { result, slot: await seal(step, kept), isReplacement };
    },

    async call(step, use, { tool, tellLoss }) {
      const { definition } = step;
      const isStateful = sessionOptionsOf(definition) !== undefined;
      const { kept } = isStateful ? await unseal(step) : { kept: null };
      if (kept === undefined || (kept && !isUsable(kept, definition))) return undefined;
      const before = kept?.kind === "session" ? forCall(kept, { tool, tellLoss, now }) : kept;
      const { result, snapshot } = await run(
        step,
        withoutRecovery(definition),
        before ?? undefined,
        use,
      );
      // Of what a call changes, only that the session is gone matters to the steps that follow.
      if (snapshot?.kind !== "lost") return { result, isReplacement: false };
      return { result, slot: await seal(step, snapshot), isReplacement: false };
    },

    async end(step) {
      const { connection, definition, principal } = step;
      const { kept } = await unseal(step);
      if (!kept) return;
      const connections = { [connection]: definition };
      const provider = createConnectionProvider({ connections, onEvent: emit, now });
      const { results } = await provider.end(stateOf(step, kept), { principal });
      for (const { ended, status, reason } of results) {
        if (ended || reason === undefined || reason === "undeclared") continue;
        const answer = status === undefined ? {} : { status };
        emit({ type: "close-failed", connection, reason, ...answer });
      }
    },
  };
}

/** The tool that is to be called stands for the list, so that none is asked for. */
function forCall(
  session: SessionSnapshot & { kind: "session" },
  { tool, tellLoss, now }: { tool: string; tellLoss: boolean; now: () => number },
): SessionSnapshot {
  const tools = [{ name: tool, inputSchema: { type: "object" } }];
  const toolList = { tools, listedAt: now() };
  return { ...session, toolList, ...(tellLoss && { replacesLost: true }) };
}

/** Whether a step can go on from it without a handshake that makes a session of its own. */
function isUsable(snapshot: SessionSnapshot, definition: McpClientConnection): boolean {
  return snapshot.kind !== "lost" && snapshot.url === endpointOf(definition);
}

/**
 * Whether there was a session that this one takes the place of, although no server has lost it: its time
 * was over, its key or its URL is another now. Of what belongs to somebody else nothing is said.
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
