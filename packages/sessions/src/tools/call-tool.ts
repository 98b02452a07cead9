import { McpSessionError } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import {
  abortable,
  timeLimited,
  waitingCallOf,
  waitingResult,
  withoutMarks,
} from "@durable-mcp/core/internal";
import type { CallToolResult, McpClient } from "../base/mcp-client.ts";
import { checkOptions, optionalOptions } from "../base/check-options.ts";
import type { CallEnvelope, NotedCall, NotingClient } from "../connection/call-envelope.ts";
import { type ObserveProgress, reportProgress } from "../connection/call-progress.ts";
import { isToolError } from "../connection/connection-secrets.ts";
import type { ClientConnectionTimeouts } from "../declare/connection-options.ts";
import type { UsedConnection } from "../connection/used-connection.ts";
import { callTimeoutMs } from "../declare/define-connection.ts";
import type { ConnectionOperationDetails } from "../events/connection-telemetry.ts";
import { withOwnMethods, withSessionErrors } from "../events/client-errors.ts";
import { authorizationRequired } from "../events/connection-error.ts";
import { callTimedOut } from "../events/cut-short.ts";
import { withProvided } from "./provided-arguments.ts";
import type { ToolProgress } from "../declare/tool-options.ts";

/**
 * Calls a tool of a connection without a model. A loss notice waits for the model's next result.
 *
 * @param waited of a model's call that has waited for a sign-in
 */
export async function callTool(
  connection: UsedConnection,
  tool: string,
  input: Readonly<Record<string, unknown>> = {},
  options: CallOptions = noOptions,
  waited: Pick<ToolCall, "toolCallId" | "claimed" | "allowed"> = {},
): Promise<CallToolResult> {
  if (typeof tool !== "string" || tool === "") {
    throw new McpSessionError("CONNECTION_INVALID", "tool must be the name of a tool.", {
      data: { field: "tool", connection: connection.name },
    });
  }
  if (options !== noOptions) checkOptions(callSchema, options);
  const observers = [progressObserver(connection, tool, waited.toolCallId), options.onProgress];
  return await reportProgress(observers, (observe) =>
    boundedCall(
      connection,
      { ...waited, tool: { name: tool }, input, observe },
      async (signal, call) => {
        const client = await abortable(connection.client(), signal);
        return await client.callTool({ ...call, ...(signal && { options: { signal } }) });
      },
      options,
    ),
  );
}

/** The connection's `onProgress` for one call. */
export function progressObserver(
  { name: connection, principal, definition, abortSignal }: UsedConnection,
  tool: string,
  toolCallId?: string,
): ObserveProgress | undefined {
  const { onProgress } = definition.options;
  if (onProgress === undefined) return undefined;
  const use = toolCallId === undefined ? {} : { toolCallId };
  const call = { principal, connection, abortSignal, tool, ...use };
  return (progress) => onProgress(progress, call);
}

const noOptions: CallOptions = {};
const callSchema = optionalOptions({
  ...{ abortSignal: "abortSignal", timeoutMs: "ms", onProgress: "function" },
});

/** A tool call before the application's arguments are added, and its envelope. */
interface ToolCall extends CallEnvelope {
  readonly tool: { readonly name: string; readonly annotations?: unknown };
  readonly input: unknown;
  /** The input as the model gave it, if hooks have changed it since. @default `input` */
  readonly modelInput?: unknown;
  /** Makes the call wait for the user's sign-in, if it can, and gives the placeholder. */
  readonly park?: (() => Promise<unknown>) | undefined;
}

/** Options of `run.call`. */
export interface CallOptions {
  /** Aborts the call, and cancels it on the server. */
  readonly abortSignal?: AbortSignal | undefined;
  /**
   * The time limit, in milliseconds, 1 to 2147483647. After that the call fails with `OUTCOME_UNKNOWN`.
   * @default `timeouts.callMs` of the connection
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
 * twice. It has the arguments that the application supplies. The client's errors become ours again.
 *
 * @param attempt makes the call once on a client of the connection
 */
export async function boundedCall<T>(
  connection: UsedConnection,
  { tool, input, modelInput = input, park, ...envelope }: ToolCall,
  attempt: (signal: AbortSignal | undefined, call: NotedCall) => PromiseLike<T>,
  { abortSignal: callers, timeoutMs }: Omit<CallOptions, "onProgress"> = {},
): Promise<T> {
  const { name, origin, definition } = connection;
  const callMs = timeoutMs ?? callTimeoutMs(definition);
  return await connection.trace({ operation: "call", tool: tool.name }, async (note) => {
    const provided = { tool: tool.name, input, toolCallId: envelope.toolCallId };
    const { input: args, secrets } = await withProvided(connection, provided, callers).catch(
      (error: unknown) => {
        connection.tell(error);
        throw error;
      },
    );
    const { answerMs = Infinity }: ClientConnectionTimeouts = definition.options.timeouts ?? {};
    const limitMs = Math.min(callMs ?? Infinity, answerMs);
    const own = { ...envelope, input: modelInput, stop: callers, limitMs };
    const bounded = async (signal: AbortSignal | undefined) => {
      try {
        const call = { name: tool.name, arguments: args as NotedCall["arguments"] };
        const result = await connection.withRecovery(tool, async () =>
          ownResult(connection, own, (notes) => attempt(signal, { ...call, ...notes })),
        );
        note({ isToolError: isToolError(result), waiting: waitingOf(result) });
        return connection.secrets.scrubResult(result);
      } catch (error) {
        const failure = { method: "tools/call", isAborted: signal?.aborted } as const;
        const restored = connection.restoreError(error, failure);
        const isLate = signal?.aborted && !callers?.aborted;
        // An error of ours knows more about the fate of the call.
        if (!isLate || McpSessionError.isInstance(restored)) {
          connection.tell(restored);
          // It was certainly not carried out.
          const isLocked = authorizationRequired(restored) === restored;
          const parked = isLocked && (await park?.());
          if (!parked) throw restored;
          note({ isToolError: false, waiting: waitingOf(parked) });
          return parked as T;
        }
        throw callTimedOut(restored, { connection: name, origin, callMs: callMs! });
      }
    };
    const { startCallLimit } = connection;
    return await connection.secrets.during(secrets, async () =>
      callMs === undefined
        ? bounded(callers)
        : timeLimited(callMs, callers, bounded, undefined, startCallLimit),
    );
  });
}

/**
 * Makes one call of a client. That it waits is said by our own record alone, as a result without the mark
 * of an error, with which clients get it: so they do not check it as the tool's output.
 */
export async function ownResult<T>(
  { pausing, takesNotes }: Pick<UsedConnection, "pausing" | "takesNotes">,
  envelope: CallEnvelope,
  call: (noted: Pick<NotedCall, "notes">) => PromiseLike<T>,
): Promise<T> {
  const { observe, allowed, answer } = envelope;
  // Of others nobody would read the notes.
  const isRead = takesNotes && Boolean(pausing ?? observe ?? allowed ?? answer);
  if (!isRead) return withoutMarks(await call({}));
  let waiting: WaitingCall | undefined;
  const onWaiting = (found: WaitingCall) => void (waiting = found);
  const result = await call({ notes: { ...envelope, onWaiting } });
  return waiting ? (waitingResult(waiting) as T) : withoutMarks(result);
}

/** What telemetry gets of a call that waits: not its id, and none of its questions. */
function waitingOf(result: unknown): ConnectionOperationDetails["waiting"] {
  const call = waitingCallOf(result);
  return call && { round: call.round, state: call.state };
}

const clientsInUse = new WeakMap<McpClient, McpClient>();

/**
 * The client of a connection for the application: its own `callTool` and `listTools` are traced, and a failure
 * of any method is reported. The same one for the same client.
 */
export function clientForUse(
  { trace, tell, pausing, takesNotes }: UsedConnection,
  client: NotingClient,
): McpClient {
  const known = clientsInUse.get(client);
  if (known !== undefined) return known;

  const traced: Pick<McpClient, "callTool" | "listTools"> = {
    callTool: (options) =>
      trace({ operation: "call", tool: options.name }, async (note) => {
        const own = { pausing, takesNotes };
        const result = await ownResult(own, {}, (noted) =>
          client.callTool({ ...options, ...noted }),
        );
        note({ isToolError: isToolError(result), waiting: waitingOf(result) });
        return result;
      }),
    listTools: (options) => trace({ operation: "list" }, () => client.listTools(options)),
  };
  const inUse = withSessionErrors(withOwnMethods(client, traced), (error) => {
    tell(error);
    return error;
  });
  clientsInUse.set(client, inUse);
  return inUse;
}
