// A server that a test makes faulty.
export {
  createFaultyServer,
  type FaultyServer,
  type FaultyServerOptions,
} from "./server/faulty-server.ts";
export {
  createFaultyProxy,
  type Fault,
  type FaultOptions,
  type FaultyProxy,
  type Guard,
  type HeldAnswer,
} from "./server/faulty-proxy.ts";
export type { LostSessionDialect, Malformation } from "./server/acts.ts";
export type { Act, Exchange, SeenRequest } from "./server/front.ts";
export type {
  Era,
  FaultyTool,
  FaultyTools,
  LedgerEntry,
  Question,
  QuestionRound,
  ToolRun,
} from "./server/mcp.ts";
export type { SignIn, SignInOptions } from "./server/sign-in.ts";

// Steps that are killed, and a clock that moves.
export { type Clock, type ClockSpan, createClock, openClock } from "./clock.ts";
export { runStep, startStep } from "./step/start-step.ts";
export type {
  FinishedStep,
  Step,
  StepContext,
  StepFunction,
  StepOptions,
  StopOptions,
  StoppedStep,
} from "./step/step.ts";
export type { SentRequest, StepPoint, StopPlan } from "./step/step-points.ts";

// What was sent, and what was done: for `node:test` and any other runner.
export {
  expectDone,
  expectSent,
  type SentCounts,
  type WithLedger,
  type WithRequests,
} from "./matchers/expect-sent.ts";

// A store that fails.
export { createFaultyStore, type StoreAct, type StoreOperation } from "./faulty-store.ts";
