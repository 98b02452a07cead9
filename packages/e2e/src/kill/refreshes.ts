import type { NotesUse } from "../authorization/notes-application.ts";
import {
  goOn,
  later,
  type SignInKillPoint,
  type SignInKillRound,
  type SignInWorld,
  thawBeside,
  workOf,
} from "./sign-in-world.ts";

/** Why the process refreshes: a 401, or the token's end, or because the end is near. */
const ways = ["refused", "expired", "early"] as const;
const aheadMs = { refused: 0, expired: 3_600_000, early: 280_000 } as const;

/** Points at which the process has sent the refresh token, and has not saved the answer. */
const pointsOfRequest: ReadonlySet<SignInKillPoint> = new Set<SignInKillPoint>([
  "refresh: request sent",
  "refresh: answer received",
  "refresh: before put 3",
  "refresh: during put 3",
]);

/** Points at which it has noted, or perhaps noted, that it asks. Nobody asks again after that. */
const pointsOfLoss: ReadonlySet<SignInKillPoint> = new Set<SignInKillPoint>([
  "refresh: during put 2",
  "refresh: after put 2",
  ...pointsOfRequest,
]);

/** Points with the lease in the store, and nothing of which it is not known whether it is there. */
const pointsOfLease: ReadonlySet<SignInKillPoint> = new Set<SignInKillPoint>([
  "refresh: after put 1",
  "refresh: before put 2",
  "refresh: after put 2",
  "refresh: request sent",
  "refresh: answer received",
  "refresh: before put 3",
]);

/** Kills a process that refreshes, or two in a row; then three need a token at once. */
export async function killRefresh(world: SignInWorld, killed: SignInKillRound): Promise<void> {
  const { authorization, useOf, newProcess } = world;
  const { point, sessionId: user, before, kill, count, fault } = killed;
  const refreshes = () => authorization.requests("token", "refresh_token");
  const isTwice = workOf(point) === "refresh twice";
  const way = ways[before % (isTwice ? 2 : 3)]!;
  let use: NotesUse = useOf(user);
  await newProcess(use).signIn();
  if (way !== "early") await authorization.expireAccessTokens();

  use = { ...use, aheadMs: aheadMs[way] };
  await kill({ use });
  if (isTwice) {
    use = later(use);
    await kill({ use });
  }
  const isSaved = point === "refresh: after put 3";
  const hasSent = isSaved || pointsOfRequest.has(point);

  if (way === "early" && pointsOfLease.has(point)) {
    const { outcome } = await newProcess(use).ask();
    if (outcome !== user) fault(`the token works, and was not used: ${outcome}`);
    if ((await refreshes()).length > (hasSent ? 1 : 0)) fault("a working token was refreshed");
  }
  const others = Promise.all([1, 2].map(() => newProcess(later(use)).ask()));
  const { isSignInNeeded, words } = await goOn(world, later(use), killed);
  await others;
  await thawBeside(world, later(use), killed);

  const all = await refreshes();
  const isCarriedOut = all.some(({ issuedRefreshToken }) => issuedRefreshToken !== undefined);
  if (isSignInNeeded && isCarriedOut && !isSaved) count("lost");
  const { grantsRevoked } = await authorization.reuse();
  if (all.length > 1) fault(`${all.length} refreshes`);
  if (isSignInNeeded && !words.includes("were lost")) fault(`nobody says what was lost: ${words}`);
  if (isSignInNeeded && !pointsOfLoss.has(point))
    fault("a sign-in was asked for without a request");
  if (grantsRevoked > 0) fault("a grant was revoked");
}
