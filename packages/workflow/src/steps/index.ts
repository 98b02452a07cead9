export {
  type ConnectionSteps,
  type ConnectionStepsOptions,
  createConnectionSteps,
  type SlotRefusedEvent,
  type StepEvent,
} from "./create-connection-steps.ts";
export { defineMcpClientConnection, type McpClientConnectionOptions } from "./define-connection.ts";
export type { DeclaredConnections } from "./declared-connections.ts";
export type { RunQuestions } from "./run-questions.ts";
