import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { CommandFailure } from "../../output/command-failure.ts";
import { countOf, type LogEntry, parseEntry } from "./log-entry.ts";

/** The entries of a log, and what is wrong with the file. */
export interface ReadLog {
  /** In the order of time. */
  readonly entries: readonly LogEntry[];
  /** Lines that no event log has written. */
  readonly foreignLines: number;
  /** Whether the last line has no end: it was being written, or broke off. */
  readonly isCutOff: boolean;
  /** Events that could not be written, as the log itself says. */
  readonly lostEvents: number;
}

/** @throws {CommandFailure} if the file cannot be read */
export async function readLog(path: string): Promise<ReadLog> {
  const stream = createReadStream(path, "utf8");
  let end = "";
  stream.on("data", (chunk) => (end = chunk.slice(-1).toString()));
  try {
    const entries: LogEntry[] = [];
    let foreignLines = 0;
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
    const isCutOff = end !== "" && end !== "\n" && isLastForeign;
    if (isCutOff) foreignLines -= 1;
    return { entries: inOrder(entries), foreignLines, isCutOff, lostEvents };
  } catch (error) {
    const reason = (error as Error).message;
    throw new CommandFailure(
      `The log cannot be read: ${reason}. Give the path that createEventLog got.`,
    );
  }
}

/** Processes write at the same time, and their clocks may differ. Lines of one time stay as they were written. */
function inOrder(entries: readonly LogEntry[]): LogEntry[] {
  return entries.toSorted((a, b) => a.time - b.time);
}
