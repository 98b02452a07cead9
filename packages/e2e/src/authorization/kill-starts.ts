import {
  goOn,
  later,
  type SignInKillRound,
  type SignInWorld,
  thawBeside,
} from "./sign-in-world.ts";
import type { SignInKillPoint } from "./sign-in-kill-points.ts";

/** Points at which the server may have registered a client that nobody has saved. */
const pointsOfLoss: ReadonlySet<SignInKillPoint> = new Set<SignInKillPoint>([
  "start: request sent",
  "start: answer received",
  "start: before put 2",
  "start: during put 2",
]);

/** Frozen there, a process registers a client when it goes on that nobody needs any more. */
const pointOfLateness: SignInKillPoint = "start: after put 1";

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
  const isThawed = await thawBeside(world, later(use), killed);
  const registrations = (await authorization.requests("registration")).length;
  if (registrations > 1) count("lost");
  const isDoubled = pointsOfLoss.has(point) || (isThawed && point === pointOfLateness);
  if (registrations > (isDoubled ? 2 : 1)) fault(`${registrations} registrations`);
  const { grantsRevoked } = await authorization.reuse();
  if (grantsRevoked > 0) fault("a grant was revoked");
}
