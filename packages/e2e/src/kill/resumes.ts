import type { SessionStore } from "@durable-mcp/core";
import { waitingCallOf } from "@durable-mcp/core/waiting";
import { bindsTokens } from "../authorization/bound-tokens.ts";
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from "../authorization/authorization-server.ts";
import { startLockedServer } from "../authorization/locked-server.ts";
import { createNotesApplication, type NotesUse } from "../authorization/notes-application.ts";
import { addNote, createNotesSessions, resumeNote } from "../authorization/parked-note.ts";
import type { StepContext } from "@durable-mcp/testing";
import {
  type KilledTask,
  type KillRound,
  type KillSubject,
  type KillWorld,
  stopAtPoint,
} from "./harness.ts";

/**
 * Where a process is killed that carries out a call which has waited for a sign-in. Of the call's own writes
 * `put` 1 claims it, 2 keeps what became of it, 3 notes that the conversation has the result. "refused" is a process whose call the server refuses
 * again: `put` 2 gives the claim back.
 */
const resumeKillPoints = [
  "resume: before put 1",
  "resume: during put 1",
  "resume: after put 1",
  "resume: call sent",
  "resume: answer received",
  "resume: before put 2",
  "resume: during put 2",
  "resume: after put 2",
  "resume: before put 3",
  "resume: after put 3",
  "refused: answer received",
  "refused: before put 2",
  "refused: during put 2",
  "refused: after put 2",
] as const;

type ResumeKillPoint = (typeof resumeKillPoints)[number];

function isRefused(point: ResumeKillPoint): boolean {
  return point.startsWith("refused:");
}

/** Points after a claim and before its end is kept: nobody can know what became of the call. */
const pointsOfUnknown: ReadonlySet<ResumeKillPoint> = new Set<ResumeKillPoint>([
  "resume: after put 1",
  "resume: call sent",
  "resume: answer received",
  "resume: before put 2",
  "refused: answer received",
  "refused: before put 2",
]);

interface KilledResumeTask {
  readonly use: NotesUse;
  readonly sessionId: string;
  /** The call that waits. */
  readonly id: string;
}

type Count = "settled" | "unknown" | "signIn";
type Round = KillRound<ResumeKillPoint, KilledResumeTask, Count>;

/**
 * Processes that carry out a call which has waited for a sign-in. After the kill two other steps go on at once, and a third
 * one has the result.
 */
export const killedResumes: KillSubject<ResumeKillPoint, KilledResumeTask, Count> = {
  name: "resumes",
  points: resumeKillPoints,
  counts: {
    settled: "settled afterwards",
    unknown: "outcome unknown",
    // Before the call was carried out, once more.
    signIn: "sign-in asked for",
  },
  openWorld,
  work: resumeCall,
  stopAt: stopAtPoint,
};

/** Later than any sign of life of the process that was killed. */
const later = () => Date.now() + 120_000;

/** On SDK 1, whose programs know bearer tokens alone. */
const startNotebook = async ({ issuer }: AuthorizationServer) =>
  await startLockedServer({ sdk: bindsTokens() ? 2 : 1, issuer });

async function openWorld(
  store: SessionStore,
): Promise<KillWorld<ResumeKillPoint, KilledResumeTask, Count>> {
  const authorization = await startAuthorizationServer();
  const locked = await startNotebook(authorization);

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

/** Goes on after a sign-in with a call that has waited for it. */
async function resumeCall(
  { use, sessionId, id }: KilledTask<ResumeKillPoint, KilledResumeTask>,
  { store, watch }: StepContext & { readonly store: SessionStore },
): Promise<void> {
  const application = createNotesApplication(use, { store });
  const watched = watch(store);
  const sessions = createNotesSessions(use, {
    application,
    store: {
      ...store,
      // The MCP session's record is marked as used now and then.
      put: (...args) => (args[0].includes("waiting/") ? watched : store).put(...args),
    },
  });
  await resumeNote(sessions, { sessionId, id, principal: application.principal });
}
