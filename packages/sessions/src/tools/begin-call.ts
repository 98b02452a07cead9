import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { CallToolResult, ServerTool } from "../base/mcp-client.ts";
import type { NotedCall } from "../connection/call-envelope.ts";
import { type ObserveProgress, reportProgress } from "../connection/call-progress.ts";
import type { UsedConnection } from "../connection/used-connection.ts";
import { boundedCall, progressObserver } from "./call-tool.ts";
import { signInWords } from "./stand-in-words.ts";
import { refuseUnapproved, whileAllowed } from "./tool-approval.ts";

/** A call whose agent looks after its waiting itself, such as by an interrupt. */
export interface BegunCall {
  readonly input: Record<string, unknown> | undefined;
  /** As the model gave it, if hooks have changed it since. */
  readonly modelInput: unknown;
  readonly toolCallId: string | undefined;
  /** What else tells the call apart. */
  readonly scope: string | undefined;
  /** Whether it may wait for the user's sign-in. */
  readonly mayPark: boolean;
  readonly abortSignal: AbortSignal | undefined;
  /** In milliseconds. @default the connection's */
  readonly timeoutMs?: number | undefined;
  readonly onProgress?: ObserveProgress | undefined;
}

/** A call that waits, or was made before; or the result of one that does not wait. */
export type Begun =
  | { readonly record: WaitingRecord; readonly result?: CallToolResult | undefined }
  | { readonly record?: undefined; readonly result: CallToolResult };

interface BeginParts {
  readonly tool: ServerTool;
  readonly isStandIn: boolean;
  /** Makes the call once. */
  readonly execute: (
    call: NotedCall,
    use: { readonly abortSignal: AbortSignal | undefined },
  ) => Promise<CallToolResult>;
}

/** Sends the first leg of a call, or finds out that it was sent before. */
export async function beginCall(
  connection: UsedConnection,
  { tool, isStandIn, execute }: BeginParts,
  { mayPark, abortSignal, timeoutMs, onProgress, ...called }: BegunCall,
): Promise<Begun> {
  const { name, signIn } = connection;
  const { input, toolCallId } = called;
  const own = { ...called, connection: name, tool: tool.name, isStandIn };
  let record: WaitingRecord | undefined;
  if (signIn?.callsOf) {
    record = await (await signIn.callsOf(own)).findParked(own);
    if (record !== undefined) return { record };
  }
  const onCall = (found: WaitingRecord) => void (record = found);
  const park = async () =>
    mayPark ? await signIn?.park?.({ ...own, annotations: tool.annotations, onCall }) : undefined;
  const begin = async (): Promise<CallToolResult> => {
    if (isStandIn) {
      const text = async () => signInWords(name, (await signIn?.pending())?.startUrl);
      const result = (await park()) ?? { content: [{ type: "text", text: await text() }] };
      return result as CallToolResult;
    }
    const refusal = await refuseUnapproved(connection, tool, input);
    if (refusal !== undefined) return refusal;
    const allowed = whileAllowed(connection, tool, { input });
    const observers = [progressObserver(connection, tool.name, toolCallId), onProgress];
    return await reportProgress(observers, (observe) =>
      boundedCall(
        connection,
        { ...called, tool, onCall, park, allowed, observe },
        async (signal, call) => await execute(call, { abortSignal: signal }),
        { abortSignal, timeoutMs },
      ),
    );
  };
  try {
    return { result: await begin(), record };
  } catch (error) {
    if (record === undefined) throw error;
    // The error says why the call is over, and the record says it too.
    return { record };
  }
}
