import type { StepRun } from "./step-protocol.ts";

/** The MCP session id in a snapshot, if it has one. */
export function sessionIdOf(snapshot: unknown): string | undefined {
  const id = (snapshot as { sessionId?: unknown } | undefined)?.sessionId;
  return typeof id === "string" ? id : undefined;
}

/**
 * Throws when a step let a session id out anywhere but in its snapshot: in an event, an error with its
 * causes, or anything printed. What a tool answered is the server's own affair.
 */
export function assertNoSessionId(run: StepRun, snapshots: unknown[]): void {
  const results = run.results.map(({ text: _text, structuredContent: _content, ...rest }) => rest);
  const shown = JSON.stringify({ ...run, snapshot: undefined, results });
  for (const id of snapshots.map(sessionIdOf)) {
    if (id !== undefined && shown.includes(id))
      throw new Error("a step showed its MCP session id outside the snapshot");
  }
}
