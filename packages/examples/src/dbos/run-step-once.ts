import { randomUUID } from "node:crypto";
import { DBOS } from "@dbos-inc/dbos-sdk";

/**
 * A DBOS step that is not run again after it was interrupted. DBOS runs a step anew in the process
 * that recovers a workflow, because it has no result of it; it cannot know how far the step came.
 *
 * So a step before it records which process is about to begin. In that process the record is what it
 * has just written; in one that recovers, it comes from the log and is somebody else's.
 *
 * @param run must not be retried in its process either: DBOS does not, unless `retriesAllowed` says so
 * @param interrupted what the step gives instead when another process had begun it
 */
export async function runStepOnce<RESULT>(
  name: string,
  { run, interrupted }: { run: () => Promise<RESULT>; interrupted: () => RESULT },
): Promise<RESULT> {
  // Not the same each time, as a workflow should be, and this is the point: no other step depends on it.
  const mark = randomUUID();
  const begun = await DBOS.runStep(async () => mark, { name: `${name}: begun` });
  return await DBOS.runStep(async () => (begun === mark ? await run() : interrupted()), { name });
}
