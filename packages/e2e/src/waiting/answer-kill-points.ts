/** What a process does when it is killed: it asks (the first leg), answers (a later leg), or takes the result. */
export type KilledWork = "ask" | "answer" | "resume";

/** Where a process is killed, in the order of its work. Its first `put` records, claims or notes the delivery. */
export const answerKillPoints = [
  "ask: leg sent",
  "ask: answer received",
  "ask: before put 1",
  "ask: during put 1",
  "ask: after put 1",
  "answer: before put 1",
  "answer: during put 1",
  "answer: after put 1",
  "answer: leg sent",
  "answer: answer received",
  "answer: before put 2",
  "answer: during put 2",
  "answer: after put 2",
  "resume: before put 1",
  "resume: after put 1",
] as const;

export type AnswerKillPoint = (typeof answerKillPoints)[number];

export function workOf(point: AnswerKillPoint): KilledWork {
  return point.split(":")[0] as KilledWork;
}

/** Points after a claim and before its end is kept: nobody can know what became of the leg. */
export const pointsOfUnknown: ReadonlySet<AnswerKillPoint> = new Set<AnswerKillPoint>([
  "answer: after put 1",
  "answer: leg sent",
  "answer: answer received",
  "answer: before put 2",
]);

/** What a process that is going to be killed is told. */
export interface KilledAnswerTask {
  readonly url: string;
  readonly sessionId: string;
  /** The waiting call, and the round that is answered. */
  readonly id: string;
  readonly round: number;
}
