import { createHash } from "node:crypto";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { EventStep } from "../events/step-events.ts";

/** When and where an event came. */
interface Origin {
  /** In milliseconds since 1970-01-01 UTC. */
  readonly time: number;
  /** Tells this process from all others, of any machine. */
  readonly process: string;
  readonly step: EventStep | undefined;
}

/**
 * The fields of events that are written, as far as they are short. Left out are what a server has said
 * (`params`, messages of errors), links, and whatever a later event brings along.
 */
const written = [
  ...["name", "action", "operation", "tool", "number", "durationMs", "outcome", "code", "requests"],
  ...["method", "status", "exitCode", "signal", "protocolVersion", "changed", "reason"],
  ...["round", "state", "stored", "isRestarted", "capabilities", "option", "tools", "toolName"],
  ...["added", "removed", "package", "version", "tested"],
] as const;

const longestText = 200;
const mostTexts = 20;

/** One line of JSON about an event, with its end of line. */
export function logLine(event: ConnectionEvent, { time, process, step }: Origin): string {
  const fields = event as unknown as Readonly<Record<string, unknown>>;
  const details = written.flatMap((key) => {
    const value = shortened(fields[key]);
    return value === undefined ? [] : [[key, value] as const];
  });
  const { shared, connection } = event;
  const line = {
    v: 1,
    time: new Date(time).toISOString(),
    process,
    ...(step && { step: step.id.slice(0, 8) }),
    ...(step?.sessionId !== undefined && { session: shortDigest("session", step.sessionId) }),
    connection,
    event: event.type,
    ...(shared !== undefined && { shared: shortDigest("shared", shared) }),
    ...("error" in event && { code: event.error.code, ...statusOf(event.error.data) }),
    ...Object.fromEntries(details),
  };
  return `${JSON.stringify(line)}\n`;
}

/** A line in the place of lines that could not be written. */
export function gapLine(lost: number, { time, process }: Omit<Origin, "step">): string {
  return `${JSON.stringify({ v: 1, time: new Date(time).toISOString(), process, event: "log-gap", lost })}\n`;
}

function statusOf({ status }: { readonly status?: number | undefined }) {
  return status === undefined ? {} : { status };
}

/** A digest that many ids share, so that it names nobody; enough to tell the sessions of one log apart. */
function shortDigest(kind: string, id: string): string {
  return createHash("sha256")
    .update(JSON.stringify(["durable-mcp event log", kind, id]))
    .digest("hex")
    .slice(0, 8);
}

/** What may be written of a value: numbers, flags, and texts that are cut. */
function shortened(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, longestText);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((each) => typeof each === "string").slice(0, mostTexts);
  return texts.length === 0 ? undefined : texts.map((each) => each.slice(0, longestText));
}
