import { goOn, later, type SignInKillRound, type SignInWorld } from "./sign-in-world.ts";
import type { SignInKillPoint } from "./sign-in-kill-points.ts";

/** Points at which the server may have registered a client that nobody has saved. */
const pointsOfLoss: ReadonlySet<SignInKillPoint> = new Set<SignInKillPoint>([
  "start: request sent",
  "start: answer received",
  "start: before put 2",
  "start: during put 2",
]);

/** Kills a process that opens `startUrl`; then the user opens it in two tabs. */
export async function killStart(world: SignInWorld, killed: SignInKillRound): Promise<void> {
  const { authorization, useOf, newProcess } = world;
  const { point, sessionId: user, kill, count, fault } = killed;
  const use = useOf(user);
  const { outcome } = await newProcess(use).ask();
  if (outcome !== "AUTHORIZATION_REQUIRED") fault(`nobody had signed in: ${outcome}`);
  await kill({ use });

  await Promise.all([1, 2].map(() => newProcess(later(use)).signIn()));
  const { isSignInNeeded } = await goOn(world, later(use), killed);
  if (isSignInNeeded) fault("a sign-in was lost");
  const registrations = (await authorization.requests("registration")).length;
  if (registrations > 1) count("lost");
  if (registrations > (pointsOfLoss.has(point) ? 2 : 1)) fault(`${registrations} registrations`);
  const { grantsRevoked } = await authorization.reuse();
  if (grantsRevoked > 0) fault("a grant was revoked");
}
