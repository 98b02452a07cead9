import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { EndedSession, StoredSession } from "./session-reports.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import type { StepSlot } from "./step-slot.ts";
import type { NamedSlot } from "./slot-name.ts";

/** What is told of one connection's named session. */
export type ListedSession = NamedSlot & Omit<StoredSession, "sessionId" | keyof NamedSlot>;

/** Whose a named session is, and its connection's definition. */
export interface NamedUse {
  readonly principal: Principal;
  readonly definition: McpClientConnection;
}

/** A use that makes the session if need be. */
export type NamedStart = NamedUse & {
  /** Kept with the session. @default what is kept already */
  readonly idleTimeoutMs?: number | undefined;
};

/** Whose a named session is that is to be ended, and whether its name stays. */
export interface NamedEnd {
  readonly principal: Principal;
  /** The connection's; `undefined` when there is none any more. */
  readonly definition: McpClientConnection | undefined;
  /** `restart`: the name stays, without the session. `end`: both go, unless the session could not be ended. */
  readonly mode: "restart" | "end";
}

/** Where the named sessions of one agent session are kept, as one step sees them. */
export interface NamedSlots {
  /**
   * The slot of a named session, for the step to use from now on, in place of any that it has
   * opened before. If `endIdle` has claimed the session, the slot starts without one.
   *
   * @throws {McpSessionError} `STORE_FAILED`
   */
  open(slot: NamedSlot, use: NamedStart): StepSlot | Promise<StepSlot>;
  /** All of a principal. @throws {McpSessionError} `STORE_FAILED` */
  list(principal: Principal): Promise<ListedSession[]>;
  /**
   * Ends a named session on its server. The step cannot use its slot afterwards.
   *
   * @throws {McpSessionError} `STORE_FAILED`
   */
  end(slot: NamedSlot, use: NamedEnd): Promise<EndedSession>;
  /**
   * Forgets the kept tool list of a named session. The step cannot use its slot afterwards.
   *
   * @throws {McpSessionError} `STORE_FAILED`
   */
  clearTools(slot: NamedSlot, principal: Principal): Promise<void>;
  /**
   * Begins to end the principal's sessions whose idle time-out is up, once a step. Sessions of
   * connections that are no longer declared stay. Never rejects.
   */
  endIdle(principal: Principal, declared: Readonly<Record<string, McpClientConnection>>): void;
  /** Marks the end of the step, and waits for the sessions that `endIdle` ends. */
  endStep(): Promise<void>;
}

/** For registries without an agent session. */
export const noNamedSlots: NamedSlots = {
  open: refuse,
  list: refuse,
  end: refuse,
  clearTools: refuse,
  endIdle: () => undefined,
  endStep: () => Promise.resolve(),
};

async function refuse(): Promise<never> {
  throw new McpSessionError(
    "CONNECTION_INVALID",
    "Named sessions need an agent session, and this registry has none. Use sessions.run or provider.create.",
    { data: { field: "named" } },
  );
}
