import { McpSessionError } from "@durable-mcp/core";

/** The longest idle time-out: as long as timers can be, in milliseconds. */
const maxMs = 2_147_483_647;

/** Whether a value from outside may be an idle time-out, in milliseconds. */
export function isIdleTimeout(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) <= maxMs;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkIdleTimeout(value: unknown, field: string): void {
  if (value === undefined || isIdleTimeout(value)) return;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `${field} must be a whole number of milliseconds, 1 to ${maxMs}.`,
    { data: { field } },
  );
}

/** Whether the time of a session that was used last at `lastUsedAt` is up. */
export function isIdle(
  { lastUsedAt, idleTimeoutMs }: { lastUsedAt: number; idleTimeoutMs?: number | undefined },
  time: number,
): boolean {
  return idleTimeoutMs !== undefined && time - lastUsedAt >= idleTimeoutMs;
}
