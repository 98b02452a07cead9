import { runToJson } from "../programs/run-to-json.ts";
import type { StepReport } from "./step-report.ts";

export interface StepResult extends StepReport {
  step: number;
  /** 1 for the first MCP session seen, 2 for the second …: ids are credentials, never shown. */
  session: number;
}

/**
 * Creates what runs the steps of an agent session, each in a process of its own that is called with
 * the step's number and the given arguments.
 *
 * @param loadState what durable-mcp keeps of the agent session, wherever that is
 */
export function createStepRunner(
  program: URL,
  args: readonly string[],
  loadState: () => unknown,
): (step: number) => Promise<StepResult> {
  const sessionIds: string[] = [];
  return async (step) => {
    const report = await runToJson<StepReport>(program, [String(step), ...args]);
    const sessionId = findSessionId(await loadState());
    if (!sessionIds.includes(sessionId)) sessionIds.push(sessionId);
    return { step, session: sessionIds.indexOf(sessionId) + 1, ...report };
  };
}

/** These agents have one connection, so that there is one id in the state, wherever it is kept. */
export function findSessionId(state: unknown): string {
  let sessionId: string | undefined;
  JSON.parse(JSON.stringify(state), (key, value: unknown) => {
    if (key === "sessionId" && typeof value === "string") sessionId = value;
    return value;
  });
  if (sessionId === undefined) throw new Error("No MCP session was left.");
  return sessionId;
}
