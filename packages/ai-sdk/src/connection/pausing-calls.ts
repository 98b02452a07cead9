import type { InputResponses } from "@durable-mcp/core/waiting";
import type { CallNotes, WaitingRecord } from "@durable-mcp/core/waiting/internal";

/** A pausing connection's own part of its waiting calls. */
export interface PausingCalls {
  /** Makes a call of a client of the connection, and tells the client's fetch of it. */
  noting<T>(notes: CallNotes, input: unknown, call: (input: any) => PromiseLike<T>): Promise<T>;
  /** Sends answers. @throws {McpSessionError} `NOT_WAITING`, `INPUT_INVALID`, or why nothing was sent */
  answer(
    id: string,
    responses: InputResponses,
    use: { readonly round?: number | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<WaitingRecord>;
}
