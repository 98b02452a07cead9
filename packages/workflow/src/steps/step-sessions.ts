import type { ConnectionEvent, McpClientConnection, Principal } from "@durable-mcp/sessions";
import type { ConnectionRun } from "@durable-mcp/sessions";

/** A slot belongs to an agent session. Without one it counts for any run of its principal. */
export const anySession = "any run";

/** One connection in one step. */
export interface StepConnection {
  readonly connection: string;
  readonly definition: McpClientConnection;
  readonly principal: Principal;
  /** The agent session. */
  readonly sessionId: string | undefined;
  /** The slot from an earlier step. */
  readonly slot: string | undefined;
}

/** The outcome of using a connection in a step. */
interface StepUse<T> {
  readonly result: T;
  /** The slot to keep; `undefined` if there is nothing to keep, or if the store has it. */
  readonly slot?: string | undefined;
  /** Whether the session took the place of a lost one, and the run still has to tell the model. */
  readonly isReplacement: boolean;
}

/** Seals the connection's waiting calls for the next step; gives `undefined` if a store has them. */
export type SealCalls = () => Promise<string | undefined>;

/** Keeps the sessions of a run between its steps, and the calls that wait. */
export interface StepSessions {
  /** Whether a store keeps the calls that wait. */
  readonly keepsCalls: boolean;
  /** Uses the connection, and replaces a missing or lost session. */
  open<T>(step: StepConnection, use: UseRun<T>): Promise<StepUse<T>>;
  /**
   * Uses the connection to call one tool, on the open session. Makes no session.
   *
   * @returns `undefined` if there is no such session; nothing was sent then
   */
  call<T>(
    step: StepConnection,
    use: UseRun<T>,
    call: {
      readonly tool: string;
      readonly tellLoss: boolean;
      /** Whether a store had a session when the connection was opened. */
      readonly hasSession: boolean;
      /** The record of a call that waits, as an earlier step sealed it. */
      readonly record?: string | undefined;
    },
  ): Promise<(StepUse<T> & { readonly sealCalls: SealCalls }) | undefined>;
  /** Ends the session on its server. */
  end(step: StepConnection): Promise<void>;
}

/** @param seen the types of the connection's events in this step so far */
export type UseRun<T> = (run: ConnectionRun, seen: ReadonlySet<string>) => Promise<T>;

/** For the step of a call: what the step that opened the connection has told already. */
export function exceptTold(
  emit: (event: ConnectionEvent) => void,
): (event: ConnectionEvent) => void {
  return (event) => {
    const told = ["tools-unmatched", "tools-need-tasks", "capabilities-missing"];
    if (!told.includes(event.type)) emit(event);
  };
}

/** Passes events on, and notes their types for the step. */
export function watchEvents(emit: (event: ConnectionEvent) => void) {
  const seen = new Set<string>();
  const onEvent = (event: ConnectionEvent) => {
    seen.add(event.type);
    emit(event);
  };
  return { seen, onEvent };
}
