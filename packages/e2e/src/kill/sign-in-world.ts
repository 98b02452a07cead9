import type { AuthorizationServer } from "../authorization/authorization-server.ts";
import type { NotesApplication, NotesUse } from "../authorization/notes-application.ts";
import type { KillRound } from "./harness.ts";

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

export interface KilledSignInTask {
  readonly use: NotesUse;
  /** The callback URL, with the authorization server's parameters. */
  readonly callbackUrl?: string;
}

export type SignInCount = "wentOn" | "signIn" | "lost";

export type SignInKillRound = KillRound<SignInKillPoint, KilledSignInTask, SignInCount>;

/** What the rounds of one lane share. */
export interface SignInWorld {
  readonly authorization: AuthorizationServer;
  /** The user of a round, whose application registers anew. */
  readonly useOf: (user: string) => NotesUse;
  /** The application in another process. */
  readonly newProcess: (use: NotesUse) => NotesApplication;
}

/** The lease is 30 s long; the rest of it is waited for. */
const laterMs = 29_500;

/** The same user, at the time when the next process comes. */
export function later({ aheadMs = 0, ...use }: NotesUse): NotesUse {
  return { ...use, aheadMs: aheadMs + laterMs };
}

/** Has the user sign in once more where the next process asks for that. */
export async function goOn(
  { newProcess }: SignInWorld,
  use: NotesUse,
  { count, fault }: SignInKillRound,
): Promise<{ isSignInNeeded: boolean; words: string }> {
  const { outcome, words } = await newProcess(use).ask();
  const isSignInNeeded = outcome === "AUTHORIZATION_REQUIRED";
  count(isSignInNeeded ? "signIn" : "wentOn");
  if (isSignInNeeded) {
    await newProcess(use).signIn();
    const { outcome: after } = await newProcess(use).ask();
    if (after !== use.user) fault(`after another sign-in: ${after}`);
  } else if (outcome !== use.user) fault(`the next process: ${outcome}, ${words}`);
  return { isSignInNeeded, words };
}

/** Has a process go on that was frozen while others did its work. They keep what they have. */
export async function thawBeside(
  { newProcess }: SignInWorld,
  use: NotesUse,
  { thaw, fault }: SignInKillRound,
): Promise<boolean> {
  if (!(await thaw())) return false;
  const { outcome, words } = await newProcess(use).ask();
  if (outcome !== use.user) fault(`what others have was written over, or revoked: ${words}`);
  return true;
}
