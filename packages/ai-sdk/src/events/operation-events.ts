import { McpSessionError } from "@durable-mcp/core";

/**
 * An operation of a connection that takes time:
 *
 * - `connect`: the handshake of a connection's first use. For a resumed session the state answers it.
 * - `list`: listing the tools.
 * - `call`: a tool call, with all its waiting.
 * - `recover`: replacing a lost session or a dead process.
 * - `ready`: waiting until the server answers (`registry.ready`).
 * - `answer`: answering the questions of a call that waits for a person, in any process.
 */
export type OperationName = "connect" | "list" | "call" | "recover" | "ready" | "answer";

/** `tool-error`: the tool has failed, and said so. `waiting`: the call waits for a person, or for a sign-in. */
type OperationOutcome = "done" | "tool-error" | "waiting" | "aborted" | "failed";

/** An operation has started, or has ended. */
export type OperationEvent = {
  readonly type: "operation";
  readonly operation: OperationName;
  /** The server's name of the tool of a `call`, or of the call that an `answer` is for. */
  readonly tool?: string | undefined;
  /** The same at the start and at the end. No other operation of this process has it. */
  readonly number: number;
} & (
  | { readonly action: "started" }
  | {
      readonly action: "ended";
      readonly durationMs: number;
      readonly outcome: OperationOutcome;
      /** The code of the `McpSessionError`, if it failed with one. */
      readonly code?: string | undefined;
    }
);

/** What became known of an operation that is over. */
interface KnownDetails {
  readonly isToolError?: boolean | undefined;
  readonly waiting?: { readonly state: string } | undefined;
}

/** The operations of this process so far. */
let operations = 0;

/** Tells that an operation begins. Returns a function that tells of its end. */
export function tellOperation(
  { operation, tool }: { readonly operation: OperationName; readonly tool?: string | undefined },
  emit: (event: OperationEvent) => void,
): (known: KnownDetails, failure?: { readonly error: unknown }) => void {
  const startedAt = performance.now();
  operations += 1;
  const own = { type: "operation", operation, number: operations, ...(tool && { tool }) } as const;
  emit({ ...own, action: "started" });
  return (known, failure) => {
    const durationMs = Math.round(performance.now() - startedAt);
    emit({ ...own, action: "ended", durationMs, ...outcomeOf(known, failure) });
  };
}

function outcomeOf(
  { isToolError, waiting }: KnownDetails,
  failure: { readonly error: unknown } | undefined,
): { outcome: OperationOutcome; code?: string } {
  if (failure !== undefined) {
    const { error } = failure;
    if (McpSessionError.isInstance(error)) return { outcome: "failed", code: error.code };
    return { outcome: (error as Error | null)?.name === "AbortError" ? "aborted" : "failed" };
  }
  if (waiting?.state === "waiting") return { outcome: "waiting" };
  if (waiting?.state === "outcome-unknown") return { outcome: "failed", code: "OUTCOME_UNKNOWN" };
  return { outcome: isToolError ? "tool-error" : "done" };
}
