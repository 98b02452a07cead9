import { McpSessionError, type OfferedTool } from "@durable-mcp/sessions";
import { runInternalsOf } from "@durable-mcp/sessions/internal";
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

const outcomeOf = (output: unknown, notice?: string): Outcome => ({
  output: modelOutput(output, notice),
  call: waitingCallOf(output),
});

function callTool({ connection, tool, input, ...request }: CallRequest): UseRun<Outcome> {
  // Logs of earlier releases have no id.
  const { toolCallId = crypto.randomUUID(), isStandIn = false } = request;
  const notOffered = () => new Error(`Connection ${connection} no longer offers the tool ${tool}.`);

  return async (run, seen) => {
    try {
      return await runInternalsOf(run)(async ({ offer, again }) => {
        /** Has the call wait for the sign-in, where the tools cannot be listed. @throws the cause, if it cannot wait */
        const park = async (cause: unknown): Promise<Outcome> => {
          const own = again({ connection, name: tool, listed: { name: tool }, isStandIn });
          if (!own.mayPark) throw cause;
          const refused = isStandIn ? undefined : await own.unapproved(input);
          const output = refused ?? (await own.park({ input, toolCallId }));
          if (output === undefined) throw cause;
          return outcomeOf(output);
        };
        if (isStandIn) return await park(notOffered());
        let offered: readonly OfferedTool[];
        try {
          offered = await offer({ onUnavailable: "throw" });
        } catch (error) {
          const { code } = error as Partial<McpSessionError>;
          if (code !== "AUTHORIZATION_REQUIRED") throw error;
          return await park(error);
        }
        const found = offered.find((each) => each.tool === tool);
        if (found === undefined) throw notOffered();
        const unapproved = await found.unapproved(input);
        const output = unapproved ?? (await found.call(input, { toolCallId, messages: [] }));
        return outcomeOf(output, found.noticeFor?.(output, toolCallId));
      });
    } catch (error) {
      return { error, isLost: seen.has("lost") };
    }
  };
}
