import { mayWait, runInternalsOf } from "@durable-mcp/sessions/internal";
import type { OpenedConnection, SessionsRequest } from "../step-protocol.ts";
import { plainTools } from "./offered-tools.ts";
import type { StepConnection, StepSessions } from "./step-sessions.ts";

/**
 * Opens one connection: makes its session, unless the server still knows it, and lists its tools.
 *
 * @returns the connection for the workflow, and whether the session was made here
 */
export async function openInStep(
  sessions: StepSessions,
  step: StepConnection,
  onUnavailable: SessionsRequest["onUnavailable"],
): Promise<{ opened: OpenedConnection; isNew: boolean }> {
  const { connection, definition } = step;
  const { result, slot, isReplacement } = await sessions.open(step, async (run, seen) => {
    const tools = await runInternalsOf(run)(async ({ offer }) => {
      const orStandIn = onUnavailable === "throw" ? "throw" : "stand-in";
      return await plainTools(await offer({ onUnavailable: orStandIn }));
    });
    const isLocked = tools.some(({ isStandIn }) => isStandIn);
    const instructions = isLocked ? {} : await run.instructions();
    return {
      tools,
      instructions: instructions[connection],
      isNew: seen.has("started") || seen.has("recovered"),
      isResumed: seen.has("resumed"),
    };
  });
  const { tools, instructions, isNew, isResumed } = result;
  const opened = {
    ...(slot !== undefined ? { slot } : (isNew || isResumed) && { hasSession: true }),
    isReplacement,
    ...(sessions.keepsCalls && mayWait(definition) && { keepsCalls: true }),
    tools,
    ...(instructions !== undefined && { instructions }),
  };
  return { opened, isNew };
}
