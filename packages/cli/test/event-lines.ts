/** A line of an event log. */
export type Line = Readonly<Record<string, unknown>>;

const start = Date.parse("2026-11-23T09:00:00.000Z");

/** Lines of one step of an agent session. Times are in milliseconds since the first step. */
export function stepLines(
  {
    step,
    process = `${step}00-abcdef`,
    session = "5e551011",
    connection = "cart",
  }: Partial<Record<"process" | "session" | "connection", string>> & { step: string },
  ...events: readonly (readonly [at: number, event: string, fields?: Line])[]
): Line[] {
  return events.map(([at, event, fields]) => ({
    ...{ v: 1, time: new Date(start + at).toISOString(), process, step, session, connection },
    ...{ event, ...fields },
  }));
}

/** The events of a call. */
export function callLines(at: number, ms: number, number: number, fields: Line = {}) {
  const own = { operation: "call", tool: "add_item", number, ...fields };
  return [
    [at, "operation", { ...own, action: "started" }],
    [at + ms, "operation", { outcome: "done", ...own, action: "ended", durationMs: ms }],
  ] as const;
}

const ended = (at: number, requests: number) =>
  [at, "step-ended", { requests, durationMs: 400 }] as const;

/** A session that is started, kept, lost and recovered, in three steps. */
export function lostSession(): Line[] {
  const version = { protocolVersion: "2025-11-25" };
  return [
    ...stepLines({ step: "1" }, [0, "started", version], ...callLines(100, 200, 1), ended(400, 4)),
    ...stepLines(
      { step: "2" },
      [5_000, "resumed", version],
      ...callLines(5_100, 200, 1),
      ended(5_400, 1),
    ),
    ...stepLines(
      { step: "3" },
      [7_200_000, "resumed", version],
      callLines(7_200_100, 250, 1)[0],
      [7_200_150, "lost", { method: "tools/call", status: 404 }],
      [7_200_200, "recovered", version],
      callLines(7_200_100, 250, 1)[1],
      ended(7_200_400, 6),
    ),
  ];
}

export function asLog(lines: readonly Line[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
