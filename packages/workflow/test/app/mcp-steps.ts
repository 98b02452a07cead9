import type { CallRequest, SessionsRequest } from "@durable-mcp/workflow";
import { sealed, stored } from "./connections.ts";

export async function mcpSessions(request: SessionsRequest) {
  "use step";
  return await sealed.sessions(request);
}

export async function mcpCall(request: CallRequest) {
  "use step";
  return await sealed.call(request);
}
mcpCall.maxRetries = 0;

/**
 * Its process dies where the environment says: before or after a step that calls a tool, that finds a call (`find`),
 * or that sends what a person said (`told`).
 */
export async function fragileCall(request: CallRequest) {
  "use step";
  const dieAt = process.env["DIE_AT"];
  const { kind: leg = request.tool } = request.waiting ?? {};
  const steps = process.env["STORE_PATH"] === undefined ? sealed : stored;
  if (dieAt === `before ${leg}`) process.kill(process.pid, "SIGKILL");
  const result = await steps.call(request);
  if (dieAt === `after ${leg}`) process.kill(process.pid, "SIGKILL");
  return result;
}
fragileCall.maxRetries = 0;

/** As by somebody who forgot `maxRetries`: the engine repeats what was interrupted. */
export async function repeatedCall(request: CallRequest) {
  "use step";
  return await sealed.call(request);
}

export async function storedSessions(request: SessionsRequest) {
  "use step";
  return await stored.sessions(request);
}

export async function storedCall(request: CallRequest) {
  "use step";
  return await stored.call(request);
}
storedCall.maxRetries = 0;
