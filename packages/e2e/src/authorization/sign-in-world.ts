import type { KillRound } from "../durable/kill-harness.ts";
import type { AuthorizationServer } from "./authorization-server.ts";
import type { NotesApplication, NotesUse } from "./notes-application.ts";
import type { KilledSignInTask, SignInKillPoint } from "./sign-in-kill-points.ts";

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
