import type { SessionStore } from "@durable-mcp/core";
import { startAuthorizationServer } from "../authorization/authorization-server.ts";
import { startLockedServer } from "../authorization/locked-server.ts";
import { createNotesApplication } from "../authorization/notes-application.ts";
import type { StepContext } from "@durable-mcp/testing";
import { type KilledTask, type KillSubject, type KillWorld, stopAtPoint } from "./harness.ts";
import { killRefresh } from "./refreshes.ts";
import {
  goOn,
  type KilledSignInTask,
  later,
  type SignInCount,
  signInKillPoints,
  type SignInKillPoint,
  type SignInKillRound,
  type SignInWorld,
  thawBeside,
  workOf,
} from "./sign-in-world.ts";

/**
 * Processes that begin or end a sign-in, or refresh. Others go on after the kill, shortly before the end of the lease
 * that a killed one may have left.
 */
export const killedSignIns: KillSubject<SignInKillPoint, KilledSignInTask, SignInCount> = {
  name: "sign-ins",
  points: signInKillPoints,
  counts: {
    wentOn: "the next went on",
    // Of the user, once more.
    signIn: "sign-in asked for",
    // The authorization server had carried out a request, and nobody had saved its answer.
    lost: "answer lost",
  },
  openWorld,
  work: signInOrRefresh,
  stopAt: (point) => stopAtPoint(point, workOf(point) === "start" ? "/reg" : "/token"),
};

async function openWorld(
  store: SessionStore,
): Promise<KillWorld<SignInKillPoint, KilledSignInTask, SignInCount>> {
  const authorization = await startAuthorizationServer();
  const locked = await startLockedServer({ sdk: 2, issuer: authorization.issuer });
  const world: SignInWorld = {
    authorization,
    useOf: (user) => {
      const redirectUrl = `http://127.0.0.1:10239/${user}/callback`;
      return { url: locked.url, redirectUrl, user };
    },
    newProcess: (use) => createNotesApplication(use, { store }),
  };
  return {
    async round(killed) {
      await authorization.clearJournal();
      const work = workOf(killed.point);
      if (work === "start") await killStart(world, killed);
      else if (work === "callback") await killCallback(world, killed);
      else await killRefresh(world, killed);

      const { refreshToken, code, verifier } = await authorization.reuse();
      if (refreshToken > 1) killed.fault("a refresh token was sent twice");
      if (code > 1 || verifier > 1) killed.fault("a code or a verifier was used twice");
    },
    async close() {
      await locked.stop();
      await authorization.stop();
    },
  };
}

/** Opens `startUrl` or the callback, or refreshes. */
async function signInOrRefresh(
  { point, use, callbackUrl }: KilledTask<SignInKillPoint, KilledSignInTask>,
  { store, watch, fetch }: StepContext & { readonly store: SessionStore },
): Promise<void> {
  const work = workOf(point);
  const watched = watch(store);
  // Nonces of servers are noted in between, best effort.
  const put: SessionStore["put"] = (...args) =>
    (args[0].includes("oauth/nonces/") ? store : watched).put(...args);
  const parts = { store: { ...watched, put }, fetch };
  const { ask, reachCallback, callback } = createNotesApplication(use, parts);
  if (work === "start") await reachCallback();
  else if (work === "callback") await callback(callbackUrl!);
  else await ask();
}

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
async function killStart(world: SignInWorld, killed: SignInKillRound): Promise<void> {
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

/** Kills a process that ends a sign-in; then the browser opens the callback again. */
async function killCallback(world: SignInWorld, killed: SignInKillRound): Promise<void> {
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
