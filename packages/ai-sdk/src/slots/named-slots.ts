import type { Principal } from "@durable-mcp/core";
import type { McpClientConnection } from "../connection/define-connection.ts";
import type { StepSlot } from "./step-slot.ts";
import type { NamedSlot } from "./slot-name.ts";
import type { EndedSession, StoredSession } from "./stored-session.ts";

/** What is kept of one connection's named session; without the MCP session's id. */
export type KeptSession = NamedSlot & Omit<StoredSession, "sessionId" | "connection" | "name">;

/** Whose a named session is, and its connection's definition. */
export interface NamedUse {
  readonly principal: Principal;
  readonly definition: McpClientConnection;
}

/** Where the named sessions of one agent session are kept, as one step sees them. */
export interface NamedSlots {
  /**
   * The slot of one, for the step to use from now on; in the place of an earlier one of the step.
   * That of a session that `endIdle` found has lost it.
   *
   * @param use.idleTimeoutMs kept with it. @default what is kept already
   * @throws {McpSessionError} `STORE_FAILED`
   */
  open(
    slot: NamedSlot,
    use: NamedUse & { readonly idleTimeoutMs?: number | undefined },
  ): StepSlot | Promise<StepSlot>;
  /** All of a principal. @throws {McpSessionError} `STORE_FAILED` */
  list(principal: Principal): Promise<KeptSession[]>;
  /**
   * Ends one on its server. The step's slot of it is of no use afterwards.
   *
   * @param use.definition `undefined` when there is no such connection any more
   * @param use.mode `restart`: it is kept, without the session. `end`: it is forgotten, unless it could
   *   not be ended
   * @throws {McpSessionError} `STORE_FAILED`
   */
  end(
    slot: NamedSlot,
    use: Pick<NamedUse, "principal"> & {
      readonly definition: McpClientConnection | undefined;
      readonly mode: "restart" | "end";
    },
  ): Promise<EndedSession>;
  /**
   * Forgets the kept tool list of one. The step's slot of it is of no use afterwards.
   *
   * @throws {McpSessionError} `STORE_FAILED`
   */
  clearTools(slot: NamedSlot, principal: Principal): Promise<void>;
  /**
   * Begins to end the principal's sessions whose time is up, once a step; those of connections that
   * are not declared any more stay. Never rejects.
   */
  endIdle(principal: Principal, declared: Readonly<Record<string, McpClientConnection>>): void;
  /** Marks the end of the step, and waits for what `endIdle` began. */
  endStep(): Promise<void>;
}
