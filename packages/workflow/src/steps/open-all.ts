import { withoutCollisions } from "@durable-mcp/sessions/internal";
import type { OpenedConnection, SessionsRequest, SessionsResult } from "../step-protocol.ts";
import { openInStep } from "./open-step.ts";
import { plainError } from "./plain-error.ts";
import type { StepConnection, StepSessions } from "./step-sessions.ts";

/**
 * Opens the connections of a step, all at once.
 *
 * @param onUnavailable `"omit"` has a stand-in for the tools of a connection whose user has to sign in
 * @param finish has the last word on what was opened; throws to fail the step
 * @param onFailure called for a connection that could not be opened; throws to fail the step
 */
export async function openAll(
  sessions: StepSessions,
  steps: readonly StepConnection[],
  onUnavailable: SessionsRequest["onUnavailable"],
  finish: (opened: SessionsResult) => SessionsResult,
  onFailure: (step: StepConnection, error: unknown) => void,
): Promise<SessionsResult> {
  const openings = steps.map(async (step) => {
    try {
      return [{ step, ...(await openInStep(sessions, step, onUnavailable)) }];
    } catch (error) {
      onFailure(step, error);
      return [];
    }
  });
  const settled = await Promise.allSettled(openings);
  const done = settled.flatMap((opening) => (opening.status === "fulfilled" ? opening.value : []));
  let failure: unknown;
  try {
    const failed = settled.find((opening) => opening.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    const byName = done.map(({ step, opened }) => [step.connection, opened] as const);
    return finish(Object.fromEntries<OpenedConnection>(byName));
  } catch (error) {
    failure = error;
  }
  // A failing step keeps nothing, and its next attempt makes sessions of its own. So end these.
  const unkept = done.filter(({ opened, isNew }) => isNew && opened.slot !== undefined);
  const endings = unkept.map(({ step, opened }) => sessions.end({ ...step, slot: opened.slot }));
  await Promise.allSettled(endings);
  throw failure;
}

/** The opened connections without tools of one name. @throws {FatalError} with `"throw"` */
export function withOwnNames(
  opened: SessionsResult,
  options: Parameters<typeof withoutCollisions>[1],
): SessionsResult {
  const listed = Object.entries(opened).flatMap(([connection, { tools }]) =>
    tools.map((own) => ({ name: own.name, tool: own.tool, connection, own })),
  );
  let kept: typeof listed;
  try {
    kept = withoutCollisions(listed, options);
  } catch (error) {
    throw plainError(error);
  }
  if (kept.length === listed.length) return opened;
  const entries = Object.entries(opened).map(([connection, one]) => {
    const tools = kept.filter((each) => each.connection === connection).map(({ own }) => own);
    return [connection, { ...one, tools }] as const;
  });
  return Object.fromEntries(entries);
}
