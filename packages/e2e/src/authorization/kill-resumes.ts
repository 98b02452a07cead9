import { waitingCallOf } from "@durable-mcp/core/waiting";
import type { SessionStore } from "@durable-mcp/core";
import type { KillRound, KillSubject, KillWorld } from "../durable/kill-harness.ts";
import { startAuthorizationServer } from "./authorization-server.ts";
import { startLockedServer } from "./locked-server.ts";
import { createNotesApplication, type NotesUse } from "./notes-application.ts";
import { addNote, createNotesSessions, resumeNote } from "./parked-note.ts";
import {
  isRefused,
  type KilledResumeTask,
  pointsOfUnknown,
  resumeKillPoints,
  type ResumeKillPoint,
} from "./resume-kill-points.ts";

type Count = "settled" | "unknown" | "signIn";
type Round = KillRound<ResumeKillPoint, KilledResumeTask, Count>;

/**
 * Processes that carry out a call which has waited for a sign-in. After the kill two other steps go on at once, and a third
 * one has the result.
 */
export const killedResumes: KillSubject<ResumeKillPoint, KilledResumeTask, Count> = {
  program: new URL("killed-resume-program.ts", import.meta.url),
  points: resumeKillPoints,
  counts: {
    settled: "settled afterwards",
    unknown: "outcome unknown",
    // Before the call was carried out, once more.
    signIn: "sign-in asked for",
  },
  openWorld,
};

/** Later than any sign of life of the process that was killed. */
const later = () => Date.now() + 120_000;

async function openWorld(
  store: SessionStore,
): Promise<KillWorld<ResumeKillPoint, KilledResumeTask, Count>> {
  const authorization = await startAuthorizationServer();
  const locked = await startLockedServer({ sdk: 1, issuer: authorization.issuer });

  /** What each new process does. */
  const stepsOf = (use: NotesUse, sessionId: string, now?: () => number) => {
    const open = () => {
      const application = createNotesApplication(use, { store });
      const { principal, signIn } = application;
      const sessions = createNotesSessions(use, { application, store, ...(now && { now }) });
      return { sessions, principal, signIn };
    };
    return {
      signIn: () => open().signIn(),
      async openSession() {
        const { sessions, principal } = open();
        await sessions.run(sessionId, { principal }, () => undefined);
      },
      async addNote() {
        const { sessions, principal } = open();
        return waitingCallOf(await addNote(sessions, sessionId, principal))?.id;
      },
      async resume(id: string) {
        const { sessions, principal } = open();
        return await resumeNote(sessions, { sessionId, id, principal });
      },
      async end() {
        const { sessions, principal } = open();
        await sessions.endAll({ principal });
      },
    };
  };

  const killRound = async (killed: Round): Promise<void> => {
    const { point, sessionId, kill, thaw, count, fault } = killed;
    const use = {
      ...{ url: locked.url, redirectUrl: "http://127.0.0.1:10239/callback" },
      user: sessionId,
    };
    const before = stepsOf(use, sessionId);
    await before.signIn();
    await before.openSession();
    await authorization.revokeGrants(sessionId);
    const id = await before.addNote();
    if (id === undefined) return fault("the call does not wait, though the grant is gone");
    await before.signIn();
    if (isRefused(point)) await authorization.revokeGrants(sessionId);
    await kill({ use, sessionId, id });

    const steps = stepsOf(use, sessionId, later);
    let resumed = await resumeAtOnce(steps, id);
    if (resumed.stillWaiting.length > 0) {
      // Only the server knew, until now, that the grant was gone.
      count("signIn");
      if (!isRefused(point)) fault("it waits, and the user has signed in");
      await steps.signIn();
      resumed = await resumeAtOnce(steps, id);
    }
    if (resumed.stillWaiting.length > 0) fault("nobody could settle it");
    const said = JSON.stringify(resumed.messages);
    if (await thaw()) {
      const { messages } = await steps.resume(id);
      if (JSON.stringify(messages) !== said) fault("the result is another now");
    }
    const isUnknown = said.includes("unknown");
    judge({ point, said, isUnknown, runs: locked.runs(`"${sessionId}"`) }).forEach(fault);
    count(isUnknown ? "unknown" : "settled");
    await steps.end();
  };

  return {
    round: killRound,
    async close() {
      await locked.stop();
      await authorization.stop();
    },
  };
}

/** Two steps go on at once, each as in a process of its own; then one that gets what they left. */
async function resumeAtOnce<T>({ resume }: { resume: (id: string) => Promise<T> }, id: string) {
  await Promise.all([resume(id), resume(id)]);
  return await resume(id);
}

/** What must not be of a call that was brought to its end. */
function judge(end: {
  readonly point: ResumeKillPoint;
  /** The conversation with its result. */
  readonly said: string;
  readonly isUnknown: boolean;
  /** How often the server has carried it out. */
  readonly runs: number;
}): string[] {
  const { point, said, isUnknown, runs } = end;
  const isBetween = pointsOfUnknown.has(point);
  const wrong: [boolean, string][] = [
    [runs > 1, "it was carried out twice"],
    [!isUnknown && (runs !== 1 || !said.includes("1 notes")), "the call or its result was lost"],
    [!isUnknown && isBetween, "the call was sent again after a claim"],
    [isUnknown && !isBetween && !point.includes("during put"), "what was kept is unknown"],
    [isUnknown && isRefused(point) && runs > 0, "what was refused was carried out"],
  ];
  return wrong.flatMap(([isWrong, text]) => (isWrong ? [text] : []));
}
