import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isRecord } from "@durable-mcp/core/internal";
import { CommandFailure } from "../output/command-failure.ts";

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

/**
 * Reads the entries of a log, in the order of time, and what is wrong with the file.
 *
 * @throws {CommandFailure} if the file cannot be read
 */
export async function readLog(path: string) {
  const stream = createReadStream(path, "utf8");
  let end = "";
  stream.on("data", (chunk) => (end = chunk.slice(-1).toString()));
  try {
    const entries: LogEntry[] = [];
    /** That no event log has written. */
    let foreignLines = 0;
    /** Could not be written, as the log itself says. */
    let lostEvents = 0;
    let isLastForeign = false;
    for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
      if (line.trim() === "") continue;
      const entry = parseEntry(line);
      isLastForeign = entry === undefined;
      if (entry === undefined) foreignLines += 1;
      else if (entry.event === "log-gap") lostEvents += countOf(entry.fields, "lost") ?? 0;
      else entries.push(entry);
    }
    // It was being written, or broke off.
    const isCutOff = end !== "" && end !== "\n" && isLastForeign;
    if (isCutOff) foreignLines -= 1;
    // Processes write at the same time, and their clocks may differ. Lines of one time stay as they were written.
    const inOrder = entries.toSorted((a, b) => a.time - b.time);
    return { entries: inOrder, foreignLines, isCutOff, lostEvents };
  } catch (error) {
    const reason = (error as Error).message;
    throw new CommandFailure(
      `The log cannot be read: ${reason}. Give the path that createEventLog got.`,
    );
  }
}

/** @returns `undefined` for a line that no event log has written */
function parseEntry(line: string): LogEntry | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isRecord(fields)) return undefined;
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
