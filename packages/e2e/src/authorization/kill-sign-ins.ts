import type { SessionStore } from "@durable-mcp/core";
import type { KillSubject, KillWorld } from "../durable/kill-harness.ts";
import { startAuthorizationServer } from "./authorization-server.ts";
import { killCallback } from "./kill-callbacks.ts";
import { killRefresh } from "./kill-refreshes.ts";
import { killStart } from "./kill-starts.ts";
import { startLockedServer } from "./locked-server.ts";
import { createNotesApplication } from "./notes-application.ts";
import {
  type KilledSignInTask,
  signInKillPoints,
  type SignInKillPoint,
  workOf,
} from "./sign-in-kill-points.ts";
import type { SignInCount, SignInWorld } from "./sign-in-world.ts";

/**
 * Processes that begin or end a sign-in, or refresh. Others go on after the kill, shortly before the end of the lease
 * that a killed one may have left.
 */
export const killedSignIns: KillSubject<SignInKillPoint, KilledSignInTask, SignInCount> = {
  program: new URL("killed-sign-in-program.ts", import.meta.url),
  points: signInKillPoints,
  counts: {
    wentOn: "the next went on",
    // Of the user, once more.
    signIn: "sign-in asked for",
    // The authorization server had carried out a request, and nobody had saved its answer.
    lost: "answer lost",
  },
  openWorld,
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
