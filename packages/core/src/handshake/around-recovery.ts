/** The outcome of a recovery. Without a `status` a new session took the place of the lost one. */
export interface RecoveryOutcome {
  /** The HTTP status with which the server refused a new session. */
  readonly status?: number | undefined;
}

/**
 * Runs around each recovery, in the asynchronous context of the request that met the loss. Use it to
 * measure recoveries. It calls `recover`, which rejects if the recovery fails without a refusal. Its own
 * result or error changes nothing.
 */
export type AroundRecovery = (recover: () => Promise<RecoveryOutcome>) => Promise<unknown>;

/** Makes the new session exactly once, whatever `around` does. */
export async function runAroundRecovery<T extends object>(
  around: AroundRecovery,
  make: () => Promise<T & { readonly refused?: RecoveryOutcome }>,
): Promise<T> {
  let making: ReturnType<typeof make> | undefined;
  const makeOnce = () => (making ??= make());
  try {
    // Only the status goes to the observer, because the outcome itself holds the session id.
    await around(async () => ({ status: (await makeOnce()).refused?.status }));
  } catch {
    // This is the recovery's own error, which is thrown below, or an error of the observer.
  }
  return await makeOnce();
}
