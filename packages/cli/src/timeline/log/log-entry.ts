/** A line of an event log, as `createEventLog` of `@durable-mcp/ai-sdk/event-log` writes it. */
export interface LogEntry {
  /** In milliseconds since 1970-01-01 UTC. */
  readonly time: number;
  readonly process: string;
  readonly step: string | undefined;
  /** The digest that stands for the agent session; `""` without one. */
  readonly session: string;
  readonly connection: string;
  readonly event: string;
  /** The event's own fields: data from outside. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** @returns `undefined` for a line that no event log has written */
export function parseEntry(line: string): LogEntry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  const time = typeof fields["time"] === "string" ? Date.parse(fields["time"]) : Number.NaN;
  const { process, event } = fields;
  if (fields["v"] !== 1 || !(Math.abs(time) < mostMs)) return undefined;
  if (typeof process !== "string" || typeof event !== "string") return undefined;
  return {
    ...{ time, process, event, fields },
    step: textOf(fields, "step"),
    session: textOf(fields, "session") ?? "",
    connection: textOf(fields, "connection") ?? "",
  };
}

export function textOf(fields: LogEntry["fields"], key: string): string | undefined {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
  return typeof value === "string" ? value : undefined;
}

/** Some 3,000 years: a time that is more away is none, and a duration before it is still a date. */
const mostMs = 1e14;

/** A count or a duration: a number that is not negative, and not absurd. */
export function countOf(fields: LogEntry["fields"], key: string): number | undefined {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
  return typeof value === "number" && value >= 0 && value < mostMs ? value : undefined;
}
