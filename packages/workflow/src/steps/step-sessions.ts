import type {
  ConnectionEvent,
  ConnectionRegistry,
  McpClientConnection,
  Principal,
} from "@durable-mcp/ai-sdk";

/** One connection in one step. */
export interface StepConnection {
  readonly connection: string;
  readonly definition: McpClientConnection;
  readonly principal: Principal;
  /** The agent session. */
  readonly sessionId: string | undefined;
  /** What an earlier step returned to be kept. */
  readonly slot: string | undefined;
}

/** What a step has, and leaves. */
interface StepUse<T> {
  readonly result: T;
  /** To be kept; `undefined` when there is nothing to keep, or the store has it. */
  readonly slot?: string | undefined;
  /** Whether the session took the place of a lost one, and the model is still to be told by the run. */
  readonly isReplacement: boolean;
}

/** Where the sessions of a run are between its steps. */
export interface StepSessions {
  /** Uses the connection; a session that is missing or lost is replaced. */
  open<T>(step: StepConnection, use: UseRegistry<T>): Promise<StepUse<T>>;
  /**
   * Uses the connection to call one tool, on the session that was opened; makes none.
   *
   * @returns `undefined` when there is no such session here, so that nothing was sent
   */
  call<T>(
    step: StepConnection,
    use: UseRegistry<T>,
    call: {
      readonly tool: string;
      readonly tellLoss: boolean;
      /** Whether a store had a session when the connection was opened. */
      readonly hasSession: boolean;
    },
  ): Promise<StepUse<T> | undefined>;
  /** Ends the session on its server. */
  end(step: StepConnection): Promise<void>;
}

/** @param seen the types of the connection's events in this step, so far */
export type UseRegistry<T> = (
  registry: ConnectionRegistry,
  seen: ReadonlySet<string>,
) => Promise<T>;

/** Hands events on, and notes their types for the step. */
export function watchEvents(emit: (event: ConnectionEvent) => void) {
  const seen = new Set<string>();
  const onEvent = (event: ConnectionEvent) => {
    seen.add(event.type);
    emit(event);
  };
  return { seen, onEvent };
}
