import type { CallRequest, SessionsRequest } from "@durable-mcp/workflow";
import { steps } from "./connections.ts";

export async function mcpSessions(request: SessionsRequest) {
  "use step";
  return await steps.sessions(request);
}

/** Its process dies where the environment says, before or after a person's answer is sent. */
export async function mcpCall(request: CallRequest) {
  "use step";
  const dieAt = request.waiting && process.env["DIE_AT"];
  if (dieAt === "before answer") process.kill(process.pid, "SIGKILL");
  const result = await steps.call(request);
  if (dieAt === "after answer") process.kill(process.pid, "SIGKILL");
  return result;
}
mcpCall.maxRetries = 0;
