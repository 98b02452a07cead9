import { invalid } from "@durable-mcp/core/internal";
import type { Principal } from "@durable-mcp/core";
import type { EndedSession, StoredSession } from "./session-reports.ts";
import type { DeclaredClient, McpClientConnection } from "../declare/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { EndUse } from "./kept-session.ts";
import type { NamedSlot, SlotName, StepSlot } from "./step-slot.ts";

/** The description of one connection's named session. */
export type ListedSession = NamedSlot &
  Omit<StoredSession, "sessionId" | "kind" | keyof NamedSlot> & {
    /** As of a stored session, and `process`: a stdio server's process runs, in this process alone. */
    readonly kind: StoredSession["kind"] | "process";
  };

/** Describes the process under a name, if there is one. */
export function describeProcess(
  { connection, name }: SlotName,
  { process }: LiveConnection,
  lastUsedAt: number,
  idleTimeoutMs?: number,
): ListedSession[] {
  const status = process?.status();
  if (status === undefined || name === undefined) return [];
  const { isRunning, ...details } = status;
  const kind = isRunning ? "process" : "lost";
  return [
    { connection, name, kind, lastUsedAt, ...details, ...(idleTimeoutMs && { idleTimeoutMs }) },
  ];
}

/** The principal of a named session, and its connection's definition. */
export interface NamedUse {
  readonly principal: Principal;
  readonly definition: DeclaredClient;
}

/** A use that makes the session if there is none. */
export type NamedStart = NamedUse & {
  /** Kept with the session. @default the kept value */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * Whether a session begins, and another in its place, where the record is gone. `"once"`: the first one alone.
   * @default true
   */
  readonly create?: boolean | "once" | undefined;
  /** Whether the client in all processes is one, which reads of a loss once and begins each session. @default false */
  readonly isOneClient?: boolean | undefined;
};

/**
 * The named sessions of one agent session in one step, in a state or a store. All but `beginStep`,
 * `endIdle` and `endStep` reject with `STORE_FAILED` when the store fails.
 */
export interface NamedSlots {
  /** Whether other agent sessions find a session that is shared. */
  readonly keepsShared: boolean;
  /**
   * Opens the slot of a named session, or of a shared one. The step uses this slot from now on, instead of an earlier one. If
   * `endIdle` has already claimed the session, the slot starts without one.
   */
  open(slot: SlotName, use: NamedStart): StepSlot | Promise<StepSlot>;
  /** All of a principal. */
  list(principal: Principal): Promise<ListedSession[]>;
  /** Ends a named session on its server, and its name unless that fails. The step cannot use its slot afterwards. */
  end(slot: NamedSlot, use: EndUse): Promise<EndedSession>;
  /**
   * Marks the first use of the step: begins what `endIdle` does, if it is due. A store is asked now and
   * then, by the steps that mark their sessions as used.
   */
  beginStep(principal: Principal, declared: Readonly<Record<string, McpClientConnection>>): void;
  /**
   * Begins to end the principal's sessions whose idle time-out is up, once a step. Sessions of
   * connections that are no longer declared stay. The step does not wait for it; `shutdown` does.
   */
  endIdle(principal: Principal, declared: Readonly<Record<string, McpClientConnection>>): void;
  /** Marks the end of the step. */
  endStep(): void;
}

/** For runs without an agent session. */
export const noNamedSlots: NamedSlots = {
  keepsShared: false,
  open: refuse,
  list: refuse,
  end: refuse,
  beginStep: () => undefined,
  endIdle: () => undefined,
  endStep: () => undefined,
};

async function refuse(): Promise<never> {
  throw invalid(
    "named",
    "Named sessions need an agent session, and this run has none. Use sessions.run, provider.create, or autoSession of createDurableSessions.",
  );
}
