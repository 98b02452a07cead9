import type { NotesUse } from "./notes-application.ts";

/**
 * Where a process is killed that carries out a call which has waited for a sign-in. Of the call's own writes
 * `put` 1 claims it, 2 keeps what became of it, 3 notes that the conversation has the result. "refused" is a process whose call the server refuses
 * again: `put` 2 gives the claim back.
 */
export const resumeKillPoints = [
  "resume: before put 1",
  "resume: during put 1",
  "resume: after put 1",
  "resume: call sent",
  "resume: answer received",
  "resume: before put 2",
  "resume: during put 2",
  "resume: after put 2",
  "resume: before put 3",
  "resume: after put 3",
  "refused: answer received",
  "refused: before put 2",
  "refused: during put 2",
  "refused: after put 2",
] as const;

export type ResumeKillPoint = (typeof resumeKillPoints)[number];

export function isRefused(point: ResumeKillPoint): boolean {
  return point.startsWith("refused:");
}

/** Points after a claim and before its end is kept: nobody can know what became of the call. */
export const pointsOfUnknown: ReadonlySet<ResumeKillPoint> = new Set<ResumeKillPoint>([
  "resume: after put 1",
  "resume: call sent",
  "resume: answer received",
  "resume: before put 2",
  "refused: answer received",
  "refused: before put 2",
]);

/** What a process that is going to be killed is told. */
export interface KilledResumeTask {
  readonly use: NotesUse;
  readonly sessionId: string;
  /** The call that waits. */
  readonly id: string;
}
