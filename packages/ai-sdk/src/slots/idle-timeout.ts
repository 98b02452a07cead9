/** Whether the time of a session that was used last at `lastUsedAt` is up. */
export function isIdle(
  { lastUsedAt, idleTimeoutMs }: { lastUsedAt: number; idleTimeoutMs?: number | undefined },
  time: number,
): boolean {
  return idleTimeoutMs !== undefined && time - lastUsedAt >= idleTimeoutMs;
}
