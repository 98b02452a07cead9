export { type AgentsRun, createDurableSessions } from "./agents-sessions.ts";
export {
  type AgentsTools,
  bindAgentsTools,
  type BindOptions,
  type LoadedState,
} from "./bind-agents-tools.ts";
export { defineMcpClientConnection } from "./connections.ts";
export type { SavedCall } from "./saved-run.ts";
export { McpSessionError, type Principal } from "@durable-mcp/sessions";
