import { onUnavailable, type OptionFields, optionalOptions } from "../base/check-options.ts";
import { poolSchema } from "../run/process-pool.ts";
import { autoSessionFields, autoSessionSchema } from "../run/run-options.ts";

// The options of a provider, and of its steps.

/** Options of a provider that durable sessions take, too. `connections` are checked by themselves. */
const ownProviderFields: OptionFields = {
  connections: "anything",
  pool: poolSchema,
  closeTimeoutMs: "ms",
  telemetry: { methods: ["trace"], is: "an object with a function trace, as of openTelemetry()" },
  onEvent: "observer",
  now: "function",
};
export const providerSchema = optionalOptions({
  ...ownProviderFields,
  autoSession: autoSessionSchema,
  claim: "function",
});

const stepFields: OptionFields = {
  ...{ principal: "anything", sessionId: "text", abortSignal: "abortSignal", endsAt: "date" },
};
export const createSchema = optionalOptions({ ...stepFields, state: "anything" });
export const runOnStateSchema = optionalOptions(
  { ...stepFields, onUnavailable, onSession: "function" },
  { session: "object" },
);

export const shutdownSchema = optionalOptions({ timeoutMs: "ms" });

// The options of durable sessions, and of their steps.

/** Options of `createDurableSessions` that a durable agent takes, too. */
export const durableSessionsFields: OptionFields = {
  ...ownProviderFields,
  ...{ store: "store", agent: "text", share: "flag", touchIntervalMs: "ms", clockSkewMs: [0] },
  storeTimeoutMs: "ms",
};
export const durableSessionsSchema = optionalOptions(
  {
    ...{ ...durableSessionsFields, provider: "object" },
    autoSession: optionalOptions({ ...autoSessionFields }, { sessionId: "text" }),
  },
  { store: "store" },
);

export const useSchema = optionalOptions({
  ...{ principal: "anything", abortSignal: "abortSignal", endsAt: "date", onUnavailable },
});
