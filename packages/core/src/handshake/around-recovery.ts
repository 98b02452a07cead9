/** How a recovery ended. Without a `status` a new session is in the lost one's place. */
export interface RecoveryOutcome {
  /** The HTTP status with which the server refused a new session. */
  readonly status?: number | undefined;
}

/**
 * Runs around each recovery, in the asynchronous context of the request that met the loss: a place
 * to measure it. It calls `recover`, which rejects when the recovery fails otherwise than by a
 * refusal. What it returns or throws itself changes nothing.
 */
export type AroundRecovery = (recover: () => Promise<RecoveryOutcome>) => Promise<unknown>;

/** Makes the new session once, whatever `around` does. */
export async function runAroundRecovery<T extends object>(
  around: AroundRecovery,
  make: () => Promise<T & { readonly refused?: RecoveryOutcome }>,
): Promise<T> {
  let making: ReturnType<typeof make> | undefined;
  const makeOnce = () => (making ??= make());
  try {
    // The outcome itself holds the session id.
    await around(async () => ({ status: (await makeOnce()).refused?.status }));
  } catch {
    // The recovery's own error, which is thrown below, or one of the observer.
  }
  return await makeOnce();
}
