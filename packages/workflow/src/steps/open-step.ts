import type { OpenedConnection } from "../step-protocol.ts";
import { sessionOptionsOf } from "./declared-connections.ts";
import { offeredTools } from "./offered-tools.ts";
import type { StepConnection, StepSessions } from "./step-sessions.ts";

/** Opens one connection: makes its session, or finds that the server still knows it, and lists its tools. */
export async function openInStep(
  sessions: StepSessions,
  step: StepConnection,
): Promise<OpenedConnection> {
  const { connection, definition } = step;
  const { result, slot, isReplacement } = await sessions.open(step, async (registry) => {
    const tools = await registry.tools({ onUnavailable: "throw" });
    const instructions = await registry.instructions();
    return {
      tools: await offeredTools(tools, sessionOptionsOf(definition)),
      instructions: instructions[connection],
    };
  });
  const { tools, instructions } = result;
  return {
    ...(slot !== undefined && { slot }),
    isReplacement,
    tools,
    ...(instructions !== undefined && { instructions }),
  };
}
