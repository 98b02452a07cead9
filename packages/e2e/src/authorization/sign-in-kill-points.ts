import type { NotesUse } from "./notes-application.ts";

/**
 * Where a process is killed, in the order of its work. It opens `startUrl`, where it registers first (`put` 1 claims
 * that, 2 keeps the client, 3 the sign-in); or the callback (`delete` 1 consumes the state, `put` 1 keeps the tokens);
 * or it refreshes (`put` 1 claims that, 2 notes that it asks now, 3 keeps the tokens). "refresh twice" kills the next one
 * there, too.
 */
export const signInKillPoints = [
  "start: before put 1",
  "start: after put 1",
  "start: request sent",
  "start: answer received",
  "start: before put 2",
  "start: during put 2",
  "start: after put 2",
  "start: before put 3",
  "start: after put 3",
  "callback: before delete 1",
  "callback: during delete 1",
  "callback: after delete 1",
  "callback: request sent",
  "callback: answer received",
  "callback: before put 1",
  "callback: during put 1",
  "callback: after put 1",
  "refresh: before put 1",
  "refresh: during put 1",
  "refresh: after put 1",
  "refresh: before put 2",
  "refresh: during put 2",
  "refresh: after put 2",
  "refresh: request sent",
  "refresh: answer received",
  "refresh: before put 3",
  "refresh: during put 3",
  "refresh: after put 3",
  "refresh twice: after put 1",
  "refresh twice: before put 2",
] as const;

export type SignInKillPoint = (typeof signInKillPoints)[number];

type Work = "start" | "callback" | "refresh" | "refresh twice";

export function workOf(point: SignInKillPoint): Work {
  return point.split(":")[0] as Work;
}

/** What a process that is going to be killed is told. */
export interface KilledSignInTask {
  readonly use: NotesUse;
  /** The callback URL, with the authorization server's parameters. */
  readonly callbackUrl?: string;
}
