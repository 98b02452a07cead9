// A server that a test makes faulty.
export { createFaultyServer, type FaultyServer } from "./server/faulty-server.ts";
export {
  createFaultyProxy,
  type FaultOptions,
  type FaultyProxy,
  type Guard,
} from "./server/faulty-proxy.ts";
export type { Malformation } from "./server/acts.ts";
export type { Act, Exchange, SeenRequest } from "./server/front.ts";
export type { SignIn } from "./server/sign-in.ts";

// Steps that are killed, and a clock that moves.
export { createClock } from "./clock.ts";
export { runStep, startStep } from "./step/start-step.ts";
export type { Step, StepContext, StepOptions, StopOptions } from "./step/step.ts";
export type { StepPoint, StopPlan } from "./step/step-points.ts";

// What was sent, and what was done: for `node:test` and any other runner.
export { expectDone, expectSent } from "./matchers/expect-sent.ts";

// A store that fails.
export { createFaultyStore, type StoreAct, type StoreOperation } from "./faulty-store.ts";
