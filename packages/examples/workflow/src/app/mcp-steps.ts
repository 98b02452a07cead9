/** The steps are the application's: their ids are made of this file's name. */
import type { CallRequest, SessionsRequest } from "@durable-mcp/workflow";
import { steps } from "./connections.ts";

export async function mcpSessions(request: SessionsRequest) {
  "use step";
  return await steps.sessions(request);
}

export async function mcpCall(request: CallRequest) {
  "use step";
  return await steps.call(request);
}
// What was interrupted may have been carried out.
mcpCall.maxRetries = 0;
