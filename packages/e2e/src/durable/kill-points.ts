/** Where a step is killed, in the order of a step. */
export const killPoints = [
  "before load",
  "loaded",
  "initialize sent",
  "id received",
  "before save",
  "during save",
  "saved",
  "call sent",
  "answer half read",
  "during end",
] as const;

export type KillPoint = (typeof killPoints)[number];

/** Points of a step that starts the session. */
export const pointsOfFirstStep: ReadonlySet<KillPoint> = new Set<KillPoint>([
  "initialize sent",
  "id received",
  "before save",
  "during save",
  "saved",
]);

/** Points after the save of a step that starts the session, and of one that goes on in it as well. */
export const pointsOfAnyStep: ReadonlySet<KillPoint> = new Set<KillPoint>([
  "call sent",
  "answer half read",
]);

/** Points at which the server has a session that nobody has saved: all that a crash may lose. */
export const pointsBeforeSave: ReadonlySet<KillPoint> = new Set<KillPoint>([
  "initialize sent",
  "id received",
  "before save",
  "during save",
]);

/** Points that the server's side sees: its answer is held back there. */
export const pointsAtServer: ReadonlySet<KillPoint> = new Set<KillPoint>([
  "initialize sent",
  "call sent",
  "during end",
]);

/** What a step that is going to be killed is told. */
export interface KilledStepTask {
  readonly url: string;
  readonly sessionId: string;
  readonly note: string;
}
