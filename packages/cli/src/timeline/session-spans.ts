import { type LogEntry, textOf } from "./read-log.ts";

/** The life of one MCP session, as far as the log tells of it. */
export interface SessionSpan {
  /** The connection, with the name of a named session or the digest of a shared one. */
  readonly lane: string;
  /** From 1 in its lane. */
  readonly number: number;
  readonly from: number;
  until: number;
  /** Whether it is older than the log. */
  readonly isOlder: boolean;
  end: "kept" | "lost" | "ended" | "replaced";
  /** When the server was last known to have it, if it was lost. */
  lastSeen: number | undefined;
}

/** The lane of an event. */
export function laneOf({ connection, fields }: LogEntry): string {
  const name = textOf(fields, "name");
  const shared = textOf(fields, "shared");
  if (name !== undefined) return `${connection} · ${name}`;
  return shared === undefined ? connection : `${connection} · shared ${shared}`;
}

/** The MCP sessions of an agent session, the one that began first first. */
export function findSpans(
  entries: readonly LogEntry[],
  steps: readonly { readonly until: number }[],
): SessionSpan[] {
  const spans: SessionSpan[] = [];
  const current = new Map<string, SessionSpan>();
  /** When each connection's server last answered. */
  const answered = new Map<string, number>();
  const begin = (lane: string, from: number, isOlder = false) => {
    const number = spans.filter((span) => span.lane === lane).length + 1;
    const place = { lane, number, from, until: from, isOlder };
    const span: SessionSpan = { ...place, end: "kept", lastSeen: undefined };
    spans.push(span);
    current.set(lane, span);
  };
  const close = (lane: string, until: number, end: SessionSpan["end"]) => {
    const span = current.get(lane);
    if (span === undefined || span.end === "lost") return;
    Object.assign(span, { until, end, lastSeen: end === "lost" ? answered.get(lane) : undefined });
  };

  for (const entry of entries) {
    const { event, time, fields } = entry;
    const lane = laneOf(entry);
    if (event === "started" || event === "recovered") {
      close(lane, time, "replaced");
      begin(lane, time);
    } else if (event === "resumed" && current.get(lane)?.end !== "kept") begin(lane, time, true);
    else if (event === "lost") {
      if (!current.has(lane)) begin(lane, time, true);
      close(lane, time, "lost");
    } else if (event === "restored") {
      const span = current.get(lane);
      if (span?.end === "lost") Object.assign(span, { end: "kept", lastSeen: undefined });
    } else if (event === "ended") close(lane, time, "ended");
    if (isAnswer(entry)) answered.set(lane, time);
    if (event === "operation" && fields["action"] === "started") continue;
    const span = current.get(lane);
    if (span?.end === "kept") span.until = time;
  }
  // What is kept outlives the last step.
  const last = Math.max(0, ...steps.map(({ until }) => until));
  for (const span of current.values()) if (span.end === "kept") span.until = last;
  return spans;
}

/** Whether the event says that the server has answered. */
function isAnswer({ event, fields }: LogEntry): boolean {
  if (event !== "operation" || fields["action"] !== "ended") return false;
  const isAsked = fields["operation"] === "call" || fields["operation"] === "recover";
  return isAsked && (fields["outcome"] === "done" || fields["outcome"] === "tool-error");
}
