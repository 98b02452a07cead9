import type { CallToolResult, MCPClient } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import { abortable, timeLimited } from "@durable-mcp/core/internal";
import {
  abortSignal,
  checkOptions,
  optionalOptions,
  someFunction,
  timeout,
} from "../base/check-options.ts";
import {
  type Attempt,
  type ObserveProgress,
  reportProgress,
  type ToolProgress,
} from "../connection/call-progress.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { callTimeoutMs } from "../connection/define-connection.ts";
import { withSessionErrors } from "../errors/client-errors.ts";
import { callTimedOut } from "../errors/connection-error.ts";

/** Calls a tool of a connection without a model. A loss notice waits for the model's next result. */
export async function callTool(
  connection: LiveConnection,
  tool: string,
  input: Readonly<Record<string, unknown>> = {},
  options: CallOptions = {},
): Promise<CallToolResult> {
  if (typeof tool !== "string" || tool === "") {
    throw new McpSessionError("CONNECTION_INVALID", "tool must be the name of a tool.", {
      data: { field: "tool", connection: connection.name },
    });
  }
  checkOptions(callSchema, options);
  const attempt = async (onClient: Attempt, signal: AbortSignal | undefined) => {
    const client = await abortable(connection.client(), signal);
    const use = { name: tool, ...(signal && { options: { signal } }) };
    return await onClient(client, input, (args) => client.callTool({ ...use, arguments: args }));
  };
  const observers = [progressObserver(connection, tool), options.onProgress];
  return await reportProgress(observers, (onClient) =>
    boundedCall(connection, { name: tool }, (signal) => attempt(onClient, signal), options),
  );
}

/** The connection's `onProgress` for one call. */
export function progressObserver(
  { name, principal, definition, ...connection }: LiveConnection,
  tool: string,
  toolCallId?: string,
): ObserveProgress | undefined {
  const { onProgress } = definition.options;
  if (onProgress === undefined) return undefined;
  const use = toolCallId === undefined ? {} : { toolCallId };
  const { abortSignal: signal } = connection;
  const call = { principal, connection: name, abortSignal: signal, tool, ...use };
  return (progress) => onProgress(progress, call);
}

const callSchema = optionalOptions({
  abortSignal,
  timeoutMs: timeout,
  onProgress: someFunction,
});

export interface CallOptions {
  readonly abortSignal?: AbortSignal | undefined;
  /**
   * In milliseconds, 1 to 2147483647; the call fails with `OUTCOME_UNKNOWN`. @default `timeouts.callMs`
   * of the connection
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Gets the progress of the call, at most every 100 ms, after `onProgress` of the connection; its errors
   * are dropped. Not called any more after the call has its result.
   */
  readonly onProgress?: ((progress: ToolProgress) => void) | undefined;
}

/**
 * Calls a tool of a connection: bounded in time, traced, and repeated after a loss if the tool may run
 * twice. The client's errors become ours again.
 *
 * @param attempt makes the call once
 */
export async function boundedCall<T>(
  connection: LiveConnection,
  tool: { readonly name: string; readonly annotations?: unknown },
  attempt: (signal: AbortSignal | undefined) => PromiseLike<T>,
  { abortSignal: callers, timeoutMs }: Omit<CallOptions, "onProgress"> = {},
): Promise<T> {
  const { name, origin, definition } = connection;
  const callMs = timeoutMs ?? callTimeoutMs(definition);
  return await connection.trace({ operation: "call", tool: tool.name }, async (note) => {
    const bounded = async (signal: AbortSignal | undefined) => {
      try {
        const result = await connection.withRecovery(tool, async () => await attempt(signal));
        note({ isToolError: isToolError(result) });
        return result;
      } catch (error) {
        const restored = connection.restoreError(error, {
          method: "tools/call",
          isAborted: signal?.aborted,
        });
        const isLate = signal?.aborted && !callers?.aborted;
        // An error of ours knows more about the fate of the call.
        if (!isLate || McpSessionError.isInstance(restored)) {
          connection.tell(restored);
          throw restored;
        }
        throw callTimedOut(error, { connection: name, origin, callMs: callMs! });
      }
    };
    return await (callMs === undefined ? bounded(callers) : timeLimited(callMs, callers, bounded));
  });
}

/** Whether a tool's result says that the tool failed. */
function isToolError(result: unknown): boolean {
  // A tool with an output schema may have an `isError` of its own.
  const { isError, content } = (result ?? {}) as { isError?: unknown; content?: unknown };
  return isError === true && Array.isArray(content);
}

const clientsInUse = new WeakMap<MCPClient, MCPClient>();

/**
 * The client of a connection for the application: its own `callTool` and `listTools` are traced, and a failure
 * of any method is reported. The same one for the same client.
 */
export function clientForUse({ trace, tell }: LiveConnection, client: MCPClient): MCPClient {
  const known = clientsInUse.get(client);
  if (known !== undefined) return known;

  const traced: Pick<MCPClient, "callTool" | "listTools"> = {
    callTool: (options) =>
      trace({ operation: "call", tool: options.name }, async (note) => {
        const result = await client.callTool(options);
        note({ isToolError: isToolError(result) });
        return result;
      }),
    listTools: (options) => trace({ operation: "list" }, () => client.listTools(options)),
  };
  const inUse = withSessionErrors(
    new Proxy(client, {
      get(target, key) {
        const owner = Object.hasOwn(traced, key) ? traced : target;
        return Reflect.get(owner, key, owner) as unknown;
      },
    }),
    (error) => {
      tell(error);
      return error;
    },
  );
  clientsInUse.set(client, inUse);
  return inUse;
}
