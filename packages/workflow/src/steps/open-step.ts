import { isPausing } from "@durable-mcp/ai-sdk/internal";
import type { OpenedConnection } from "../step-protocol.ts";
import { resendOf } from "./declared-connections.ts";
import { offeredTools } from "./offered-tools.ts";
import type { StepConnection, StepSessions } from "./step-sessions.ts";

/**
 * Opens one connection: makes its session, unless the server still knows it, and lists its tools.
 *
 * @returns the connection for the workflow, and whether the session was made here
 */
export async function openInStep(
  sessions: StepSessions,
  step: StepConnection,
): Promise<{ opened: OpenedConnection; isNew: boolean }> {
  const { connection, definition } = step;
  const { result, slot, isReplacement } = await sessions.open(step, async (run, seen) => {
    const tools = await run.tools({ onUnavailable: "throw" });
    const instructions = await run.instructions();
    return {
      tools: await offeredTools(tools, resendOf(definition)),
      instructions: instructions[connection],
      isNew: seen.has("started") || seen.has("recovered"),
      isResumed: seen.has("resumed"),
    };
  });
  const { tools, instructions, isNew, isResumed } = result;
  const opened = {
    ...(slot !== undefined ? { slot } : (isNew || isResumed) && { hasSession: true }),
    isReplacement,
    ...(sessions.keepsCalls && isPausing(definition) && { keepsCalls: true }),
    tools,
    ...(instructions !== undefined && { instructions }),
  };
  return { opened, isNew };
}
