import {
  goOn,
  later,
  type SignInKillRound,
  type SignInWorld,
  thawBeside,
} from "./sign-in-world.ts";

/** Kills a process that ends a sign-in; then the browser opens the callback again. */
export async function killCallback(world: SignInWorld, killed: SignInKillRound): Promise<void> {
  const { authorization, useOf, newProcess } = world;
  const { point, sessionId: user, kill, count, fault } = killed;
  const use = useOf(user);
  const callbackUrl = String(await newProcess(use).reachCallback());
  await kill({ use, callbackUrl });

  const status = await newProcess(later(use)).callback(callbackUrl);
  if (status !== 200 && status !== 403) fault(`the callback opened again: ${status}`);
  const codes = (await authorization.requests("token", "authorization_code")).length;
  if (status === 200 && codes !== 1) fault("a code that was sent counts as new");
  if (point === "callback: before delete 1" && status !== 200) fault("nobody has used the state");

  const { isSignInNeeded } = await goOn(world, later(use), killed);
  const isSaved = point === "callback: after put 1";
  await thawBeside(world, later(use), killed);
  if (codes > 0 && isSignInNeeded) count("lost");
  if (isSignInNeeded && status === 200) fault("a sign-in was lost that came to its end");
  if (isSignInNeeded && isSaved) fault("tokens were lost, though they were saved");
  const { grantsRevoked } = await authorization.reuse();
  if (grantsRevoked > 0) fault("a grant was revoked");
}
