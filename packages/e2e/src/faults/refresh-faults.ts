import { createMemoryStore } from "@durable-mcp/core";
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from "../authorization/authorization-server.ts";
import { type LockedServer, startLockedServer } from "../authorization/locked-server.ts";
import { createNotesApplication } from "../authorization/notes-application.ts";
import { addNote, createNotesSessions } from "../authorization/parked-note.ts";
import type { AuthorizationServerOptions, TokenFault } from "../authorization/protocol.ts";
import { openStoreAt, startStorePlace } from "../durable/store-place.ts";
import { startKilled } from "../kill/harness.ts";
import type { Fault, FaultGroup, World } from "./fault.ts";
import { describe } from "./judge.ts";
import { allowanceMs, shortTimes } from "./waits.ts";

type RefreshTokenUse = NonNullable<AuthorizationServerOptions["refreshTokenUse"]>;

interface RefreshWorld extends World {
  readonly authorization: AuthorizationServer;
  readonly locked: LockedServer;
}

async function openRefreshWorld(refreshTokenUse: RefreshTokenUse): Promise<RefreshWorld> {
  const authorization = await startAuthorizationServer({ refreshTokenUse });
  const locked = await startLockedServer({ sdk: 2, issuer: authorization.issuer });
  return {
    ...{ authorization, locked },
    evidence: { runs: locked.runs },
    async close() {
      await locked.stop();
      await authorization.stop();
    },
  };
}

/** Why a process refreshes, by its clock and the servers'; and how much later the next one needs a token. */
const rounds = [
  { way: "expired", laterMs: 12_000 },
  { way: "refused", laterMs: 12_000 },
  { way: "early", laterMs: 12_000 },
  { way: "expired", laterMs: 2_000 },
  { way: "refused", laterMs: 2_000 },
] as const;
const aheadMs = { refused: 0, expired: 3_600_000, early: 280_000 } as const;

const timeoutMs = 1_000;

/** The authorization server carries a refresh out, and its answer is not read. Others need a token then. */
function unread(what: string, fault: TokenFault, tokenUse: RefreshTokenUse): Fault<RefreshWorld> {
  const name = `${what}, to a refresh${namesOfUse[tokenUse]}`;
  return {
    name,
    async round({ number, fault: note }, { authorization, locked }) {
      const { way, laterMs } = rounds[number % rounds.length]!;
      const user = `${name} ${number}`.replaceAll(/\W+/g, "-");
      const store = createMemoryStore();
      const said: string[] = [];
      const at = (ahead: number) =>
        createNotesApplication(
          { url: locked.url, redirectUrl, user, timeoutMs, aheadMs: ahead },
          { store, onEvent: ({ type }) => said.push(type) },
        );
      const wrong = (text: string) => note(`${way}, ${laterMs} ms later: ${text}`);
      await at(0).signIn();
      if (tokenUse === "ever") {
        // Only an answer shows that the token is good again.
        await authorization.expireAccessTokens();
        await at(0).ask();
      }
      if (way !== "early") await authorization.expireAccessTokens();
      await authorization.clearJournal();
      await authorization.failTokenRequests({ fault, grantType: "refresh_token", waitMs: 3_000 });

      const first = await at(aheadMs[way]).ask();
      const { refreshToken: sentSoon } = await authorization.reuse();
      const next = await at(aheadMs[way] + laterMs).ask();
      // The token's end by the clock, if it works until then.
      const last = way === "early" ? await at(aheadMs.expired).ask() : next;

      const { refreshToken: sent, grantsRevoked } = await authorization.reuse();
      const isSoon = laterMs < 10_000;
      // Without an answer nobody knows that a token is good again.
      const isGood = tokenUse === "ever" || (tokenUse === "grace" && sent > 1);
      if (tokenUse !== "ever" && sent > 2) wrong(`the token was sent ${sent} times`);
      if (tokenUse !== "ever" && !isSoon && sent > sentSoon) wrong("the used token was sent again");
      const isUsed = [first, next].every(({ outcome }) => outcome === user);
      if (way === "early" && !isUsed) wrong(`a working token was not used: ${next.words}`);
      if (way === "early" && grantsRevoked > 0) wrong("a working token was revoked");
      if (isGood && last.outcome !== user) wrong(`the user had to sign in: ${last.words}`);
      if (isGood) return;
      if (last.outcome !== "AUTHORIZATION_REQUIRED") wrong(`told ${last.outcome}: ${last.words}`);
      if (!said.includes("refresh-lost")) wrong(`nobody said that it was lost: ${said.join()}`);
      if (said.includes("refresh-refused")) wrong(`told as refresh-refused: ${said.join()}`);
      await at(aheadMs.expired).signIn();
      const after = await at(aheadMs.expired).ask();
      if (after.outcome !== user) wrong(`after another sign-in: ${after.words}`);
    },
  };
}

const namesOfUse: Readonly<Record<RefreshTokenUse, string>> = {
  once: "",
  grace: ", a used token is good for a moment",
  ever: ", tokens do not change",
};

const faults: readonly (readonly [string, TokenFault])[] = [
  ["HTTP 504 in JSON", "gateway-timeout"],
  ["HTTP 502 in HTML", "bad-gateway"],
  ["a reset", "cut-after"],
  ["silence", "wait-after"],
];

const redirectUrl = "http://127.0.0.1:10239/callback";

/** A process that was to refresh is killed, and a chat that is known needs the token while its lease lasts. */
const deadHolder: Fault<RefreshWorld> = {
  name: "a process is killed that was to refresh",
  async round({ number, fault }, { authorization, locked }) {
    const { remove, ...place } = await startStorePlace("sqlite");
    const { store, close } = await openStoreAt(place);
    try {
      const user = `dead-holder-${number}`;
      const use = { url: locked.url, redirectUrl, user, timeoutMs };
      const application = createNotesApplication(use, { store });
      const { principal, signIn } = application;
      const { connectMs, answerMs } = shortTimes;
      const timeouts = { connectMs, answerMs };
      const sessions = createNotesSessions(use, { application, store, timeouts });
      await signIn();
      const begunAt = performance.now();
      await addNote(sessions, user, principal);
      /** What a step takes here and now when nothing is wrong. */
      const usualMs = performance.now() - begunAt;
      await authorization.expireAccessTokens();
      const holder = await startKilled("sign-ins", { place, use, point: "refresh: after put 1" });
      await holder.kill({ at: "after-save" });
      const startedAt = performance.now();
      const said = await addNote(sessions, user, principal).then(JSON.stringify, describe);
      const ms = performance.now() - startedAt;
      // It may be that the lease was over.
      const isBlamed = /silent|nothing was read|is unknown/.test(said);
      if (isBlamed) fault(`told wrong: the server was not asked: ${said}`);
      if (ms > answerMs + usualMs + allowanceMs) fault(`late: ${Math.round(ms)} ms`);
    } finally {
      await close?.();
      await remove();
    }
  },
};

/** A user signs out elsewhere while the refreshed token is on its way. */
const revokedMeanwhile: Fault<RefreshWorld> = {
  name: "a token is revoked between its refresh and its use",
  async round({ number, fault }, { authorization, locked }) {
    const user = `revoked-${number}`;
    let requests = 0;
    const { signIn, ask } = createNotesApplication(
      { url: locked.url, redirectUrl, user, timeoutMs },
      {
        store: createMemoryStore(),
        async notebookFetch(...args) {
          requests += 1;
          if (requests === 2) await authorization.revokeGrants(user);
          return await fetch(...args);
        },
      },
    );
    await signIn();
    await authorization.expireAccessTokens();
    const { outcome } = await ask();
    if (outcome !== "AUTHORIZATION_REQUIRED") fault(`told wrong: HTTP ${outcome}`);
  },
};

/** Authorization servers whose answers do not arrive. */
export const refreshGroups: readonly FaultGroup<RefreshWorld>[] = [
  ...(["once", "grace", "ever"] as const).map((use) => ({
    openWorld: () => openRefreshWorld(use),
    // What a server remembers does not depend on the way its answer was lost.
    faults: faults
      .slice(0, use === "once" ? 4 : 1)
      .map(([what, fault]) => unread(what, fault, use)),
  })),
  { openWorld: () => openRefreshWorld("once"), faults: [deadHolder, revokedMeanwhile] },
];
