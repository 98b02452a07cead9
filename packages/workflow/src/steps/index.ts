export {
  type ConnectionStepsOptions,
  createConnectionSteps,
  type SlotRefusedEvent,
  type StepEvent,
} from "./create-connection-steps.ts";
export type { DeclaredConnections } from "./declared-connections.ts";
