import type { InputResponses } from "@durable-mcp/core/waiting";
import type { ShownRound, WaitingRecord } from "@durable-mcp/core/waiting/internal";

/** A pausing connection's own part of its waiting calls. */
export interface PausingCalls {
  /** A call in any state; `undefined` for an unknown id. */
  read(id: string): Promise<WaitingRecord | undefined>;
  /** All calls of the agent session and principal, of other connections too. */
  list(): Promise<WaitingRecord[]>;
  /** Sends answers. @throws {McpSessionError} `NOT_WAITING`, `INPUT_INVALID`, or why nothing was sent */
  answer(
    call: WaitingRecord,
    responses: InputResponses,
    use: { readonly round?: number | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<WaitingRecord>;
  /** Notes that a graph is about to show a question. @throws {McpSessionError} `NOT_WAITING` */
  show(id: string, shown: ShownRound): Promise<void>;
}
