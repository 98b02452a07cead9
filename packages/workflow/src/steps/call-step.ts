import { McpSessionError } from "@durable-mcp/ai-sdk";
import { unapproved } from "@durable-mcp/ai-sdk/internal";
import { waitingCallOf } from "@durable-mcp/core/internal";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import type { CallRequest, CallResult, ToolResult } from "../step-protocol.ts";
import { sessionOptionsOf } from "./declared-connections.ts";
import { notSent } from "./failed-call.ts";
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
  if (used === undefined) {
    const message = `Connection ${connection}: the run has no session that the server knows. Nothing was sent.`;
    return { ok: false, code: "SESSION_LOST", message, isLost: true, maySendAgain: true };
  }
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
  return async (run, seen) => {
    try {
      const tools = await run.tools({ onUnavailable: "throw" });
      const offered = Object.values(tools) as unknown as CallableTool[];
      const found = offered.find(({ metadata }) => metadata?.toolName === tool);
      if (found === undefined) {
        throw new Error(`Connection ${connection} no longer offers the tool ${tool}.`);
      }
      // Logs of earlier releases have no id.
      const { toolCallId = crypto.randomUUID() } = request;
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
