import type { ActiveSessionSnapshot, Principal, SessionSnapshot } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import { recordKey, recordOwner, type SlotRecord } from "../records/slot-record.ts";
import type { SlotName } from "../records/step-slot.ts";
import type { SlotContext } from "./sessions-context.ts";

/** The agent session's own record of a shared session. The start tells an MCP session from those before it. */
interface SeenSession {
  readonly version: 1;
  /** The start of the MCP session that the model knows. */
  readonly seen: number;
  /** The time of the last mark of use, in milliseconds since 1970-01-01 UTC. */
  readonly savedAt: number;
}

export type SeenSessions = Awaited<ReturnType<typeof loadSeenSessions>>;

/**
 * Sees to it that the model of each agent session is told, once, that a shared session took the place of
 * the one that it knew, whoever replaced it.
 *
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function loadSeenSessions(context: SlotContext, of: SlotName, principal: Principal) {
  const { store, agent, sessionId, now } = context;
  const key = recordKey({ agent, sessionId, ...of }, principal);
  const owner = recordOwner(principal);
  const stored = await store.get(key);
  let revision = stored?.revision ?? null;
  let written = parseSeen(stored?.value);
  /** The start of the MCP session in use, and of the one that the model knows. */
  let current: number | undefined;
  let known = written?.seen;

  return {
    /** The stored snapshot to begin with. */
    begin(record: SlotRecord | undefined, snapshot: SessionSnapshot | undefined) {
      current = record?.startedAt;
      known ??= current;
      return known !== current && isSession(snapshot) ? untold(snapshot) : snapshot;
    },
    /** Notes the session in use from now on: the step's own, or another process's in its place. */
    use(startedAt: number | undefined, saved: ActiveSessionSnapshot, own: ActiveSessionSnapshot) {
      current = startedAt;
      known ??= startedAt;
      return own.replacesLost ? untold(saved) : saved;
    },
    /** Saves what the model knows, if that has changed or the last mark is old. */
    async save(snapshot: SessionSnapshot | undefined) {
      if (isSession(snapshot) && !snapshot.replacesLost) known = current;
      if (known === undefined) return;
      if (written?.seen === known && !isMarkOld(context, written.savedAt)) return;
      const next: SeenSession = { version: 1, seen: known, savedAt: now() };
      const put = async () => await store.put(key, { ...next }, revision, { owner });
      let result = await put();
      if (!result.ok) {
        revision = result.current?.revision ?? null;
        // It was swept while a long step had it.
        if (revision === null) result = await put();
      }
      // Else another step of the agent session has told its model.
      if (result.ok) ({ revision } = result);
      written = result.ok ? next : parseSeen(result.current?.value);
    },
  };
}

function parseSeen(value: unknown): SeenSession | undefined {
  if (!isRecord(value) || value["version"] !== 1) return undefined;
  const { seen, savedAt } = value;
  const isSeen = Number.isFinite(seen) && Number.isFinite(savedAt);
  return isSeen ? (value as unknown as SeenSession) : undefined;
}

/** Whether a mark of use is to be made anew: all processes together make one in `touchIntervalMs`. */
export function isMarkOld(
  { touchIntervalMs, now }: Pick<SlotContext, "touchIntervalMs" | "now">,
  savedAt: number,
): boolean {
  const age = now() - savedAt;
  return age < 0 || age >= touchIntervalMs;
}

function untold(snapshot: ActiveSessionSnapshot): ActiveSessionSnapshot {
  return { ...snapshot, replacesLost: true };
}

function isSession(snapshot: SessionSnapshot | undefined): snapshot is ActiveSessionSnapshot {
  return snapshot?.kind === "session";
}
