export type { WaitingCall, WaitingResult } from "@durable-mcp/core/waiting";
export { waitingCallOf } from "@durable-mcp/core/internal";
