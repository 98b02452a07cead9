import type { ConnectionRun } from "@durable-mcp/ai-sdk";
import { McpSessionError } from "@durable-mcp/sessions";
import { refuseUnapproved, runInternalsOf, unapproved } from "@durable-mcp/sessions/internal";
import { waitingCallOf } from "@durable-mcp/core/internal";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import type { CallRequest, CallResult, ToolResult } from "../step-protocol.ts";
import { sessionOptionsOf } from "./declared-connections.ts";
import { noSession, notSent } from "./failed-call.ts";
import { modelOutput } from "./model-output.ts";
import type { StepConnection, StepSessions, UseRun } from "./step-sessions.ts";
import { waitingStep } from "./waiting-step.ts";

/** Makes one tool call on the run's session. */
export async function callInStep(
  sessions: StepSessions,
  step: StepConnection,
  request: CallRequest,
): Promise<CallResult> {
  const { connection, definition } = step;
  const { tool, tellLoss, mayRunTwice, hasSession = false } = request;
  const callOnce = callTool(request);
  let hasBegun = false;
  const use: typeof callOnce = (...args) => {
    hasBegun = true;
    return callOnce(...args);
  };
  let used: Awaited<ReturnType<typeof sessions.call<Outcome>>>;
  try {
    used = await sessions.call(step, use, { tool, tellLoss, hasSession });
  } catch (error) {
    if (hasBegun) throw error;
    return notSent(error);
  }
  if (used === undefined) return noSession(connection);
  const { result, slot, sealCalls } = used;
  if ("output" in result) {
    const { output, call } = result;
    if (call === undefined) return { ok: true, output };
    try {
      return { ok: true, output, waiting: await waitingStep(call, definition, sealCalls) };
    } catch (error) {
      return notSent(error);
    }
  }
  const { error, isLost } = result;
  const message = error instanceof Error ? error.message : String(error);
  if (!McpSessionError.isInstance(error)) {
    return { ok: false, message, isLost, maySendAgain: false };
  }
  const { code } = error;
  const { resend = "safe" } = sessionOptionsOf(definition) ?? {};
  const isSafe = code === "SESSION_LOST" ? resend !== "never" : mayRunTwice;
  return {
    ok: false,
    code,
    message,
    isLost,
    maySendAgain: isLost && isSafe && (code === "SESSION_LOST" || code === "OUTCOME_UNKNOWN"),
    ...(slot !== undefined && { slot }),
  };
}

type Outcome =
  | { readonly output: ToolResult; readonly call: WaitingCall | undefined }
  | { readonly error: unknown; readonly isLost: boolean };

/** The part of a run's tool that is used here. */
interface CallableTool {
  readonly metadata?: { readonly toolName?: unknown } | undefined;
  readonly execute: (input: unknown, options: object) => Promise<unknown>;
  readonly needsApproval?: boolean | ((input: unknown, options: object) => Promise<boolean>);
  readonly toModelOutput: (result: object) => Promise<{ type: string; value?: unknown }>;
}

function callTool({ connection, tool, input, ...request }: CallRequest): UseRun<Outcome> {
  // Logs of earlier releases have no id.
  const { toolCallId = crypto.randomUUID(), isStandIn = false } = request;
  const notOffered = () => new Error(`Connection ${connection} no longer offers the tool ${tool}.`);
  /** Has the call wait for the sign-in, where the tools cannot be listed. @throws the cause, if it cannot wait */
  const park = async (run: ConnectionRun, cause: unknown): Promise<Outcome> =>
    await runInternalsOf(run)(async ({ find }) => {
      const own = find(connection);
      if (own.signIn?.park === undefined) throw cause;
      const refused = isStandIn ? undefined : await refuseUnapproved(own, { name: tool }, input);
      const output = refused ?? (await own.signIn.park({ tool, input, toolCallId, isStandIn }));
      if (output === undefined) throw cause;
      const forModel = modelOutput({ type: "content", value: output.content });
      return { output: forModel, call: waitingCallOf(output) };
    });

  return async (run, seen) => {
    try {
      if (isStandIn) return await park(run, notOffered());
      let tools: object;
      try {
        tools = await run.tools({ onUnavailable: "throw" });
      } catch (error) {
        const { code } = error as Partial<McpSessionError>;
        if (code !== "AUTHORIZATION_REQUIRED") throw error;
        return await park(run, error);
      }
      const offered = Object.values(tools) as unknown as CallableTool[];
      const found = offered.find(({ metadata }) => metadata?.toolName === tool);
      if (found === undefined) throw notOffered();
      const use = { toolCallId, messages: [] };
      const { needsApproval = false } = found;
      const isAsked =
        typeof needsApproval === "function" ? await needsApproval(input, use) : needsApproval;
      const output = isAsked ? unapproved : await found.execute(input, use);
      const forModel = await found.toModelOutput({ toolCallId, input, output });
      return { output: modelOutput(forModel), call: waitingCallOf(output) };
    } catch (error) {
      return { error, isLost: seen.has("lost") };
    }
  };
}
