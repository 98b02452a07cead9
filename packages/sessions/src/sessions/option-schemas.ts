import * as z from "zod/mini";
import {
  abortSignal,
  anything,
  endsAt,
  eventObserver,
  flag,
  isFunction,
  onUnavailable,
  optionalOptions,
  someFunction,
  someObject,
  someStore,
  text,
  timeout,
  wholeNumber,
} from "../base/check-options.ts";
import { poolSchema } from "../run/process-pool.ts";
import { autoSessionFields, autoSessionSchema } from "../run/run-options.ts";

// The options of a provider, and of its steps.

/** Options of a provider that durable sessions take, too. `connections` are checked by themselves. */
const ownProviderFields = {
  connections: anything,
  pool: poolSchema,
  closeTimeoutMs: timeout,
  telemetry: z.custom(
    (value) => isFunction((value as { trace?: unknown } | null)?.trace),
    "must have a function trace, such as openTelemetry() has",
  ),
  onEvent: eventObserver,
  now: someFunction,
};
export const providerSchema = optionalOptions({
  ...ownProviderFields,
  autoSession: autoSessionSchema,
  claim: someFunction,
});

const stepFields = { principal: anything, sessionId: text, abortSignal, endsAt };
export const createSchema = optionalOptions({ ...stepFields, state: anything });
export const runOnStateSchema = optionalOptions(
  { ...stepFields, onUnavailable, onSession: someFunction },
  { session: someObject },
);

export const shutdownSchema = optionalOptions({ timeoutMs: timeout });

// The options of durable sessions, and of their steps.

/** Options of `createDurableSessions` that a durable agent takes, too. */
export const durableSessionsFields = {
  ...ownProviderFields,
  store: someStore,
  agent: text,
  share: flag,
  touchIntervalMs: timeout,
  clockSkewMs: wholeNumber(0, Number.MAX_SAFE_INTEGER, "milliseconds"),
  storeTimeoutMs: timeout,
};
export const durableSessionsSchema = optionalOptions(
  {
    ...{ ...durableSessionsFields, provider: someObject },
    autoSession: z.strictObject({ ...autoSessionFields, sessionId: text }),
  },
  { store: someStore },
);

export const useSchema = optionalOptions({
  principal: anything,
  abortSignal,
  endsAt,
  onUnavailable,
});
