import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { checkOptions, optionalOptions } from "../base/check-options.ts";
import type { EventObserver } from "../events/application-event.ts";
import { gapLine, logLine } from "./log-line.ts";

/** Options of `createEventLog`. */
export interface EventLogOptions {
  /** The file. It is made if there is none, and lines are appended to it. Its folder has to exist. */
  readonly path: string;
}

const eventLogSchema = optionalOptions({}, { path: "text" });

/**
 * Creates an `onEvent` that appends each event to a file, as a line of JSON: what `durable-mcp timeline` draws. Any
 * number of processes may share the file. A line holds no id, token, state or principal: the agent session is a short
 * digest of its id.
 *
 * An event is in the file when the function returns, so nothing is left to write when a step ends or its
 * process dies. What cannot be written does not fail the step. The console says so, once, and so does the log,
 * as soon as it can be written again.
 *
 * @example
 * createDurableSessions({ connections, store, onEvent: createEventLog({ path: "events.jsonl" }) });
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function createEventLog(options: EventLogOptions): EventObserver {
  const path = resolve(checkOptions(eventLogSchema, options).path);
  // Processes in containers often have the same number.
  const name = `${process.pid}-${randomBytes(3).toString("hex")}`;
  let isWarned = false;
  let lost = 0;
  const every: EventObserver["every"] = (event, step) => {
    const origin = { time: Date.now(), process: name, step };
    try {
      const gap = lost > 0 ? gapLine(lost, origin) : "";
      append(path, `${gap}${logLine(event, origin)}`);
      lost = 0;
    } catch (error) {
      lost += 1;
      if (isWarned) return;
      isWarned = true;
      console.warn(
        `The event log ${path} cannot be written, so events are lost: ${(error as Error).message}. Its folder has to exist, and this process has to be allowed to write there. (This is said once.)`,
      );
    }
  };
  return { every };
}

/** Appends whole lines with one write, so that lines of several processes never mix. */
function append(path: string, lines: string): void {
  const file = openSync(path, "a+", 0o600);
  try {
    // What a full disk, or a power failure, has left of a line. Another process's write that is still under way can look
    // the same. The line between is then empty, and readers pass over it.
    const bytes = Buffer.from(endsInLine(file) ? lines : `\n${lines}`);
    const written = writeSync(file, bytes);
    if (written < bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes`);
  } finally {
    closeSync(file);
  }
}

function endsInLine(file: number): boolean {
  const { size } = fstatSync(file);
  // Of a new file, and of what is no file.
  if (size === 0) return true;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, size - 1);
  return last[0] === 0x0a;
}
