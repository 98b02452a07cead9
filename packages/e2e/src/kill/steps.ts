import { createFaultyProxy, type StepContext, type StepPoint } from "@durable-mcp/testing";
import type { SessionStore } from "@durable-mcp/core";
import { callNotebook, createNotebookSessions, principal } from "../durable/notebook-sessions.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import type { KilledTask, KillRound, KillSubject, KillWorld } from "./harness.ts";

/** Where a step is killed, in the order of a step. */
const killPoints = [
  "before load",
  "loaded",
  "initialize sent",
  "id received",
  "before save",
  "during save",
  "saved",
  "call sent",
  "answer half read",
  "during end",
] as const;

type KillPoint = (typeof killPoints)[number];

/** Points of a step that starts the session. */
const pointsOfFirstStep: ReadonlySet<KillPoint> = new Set<KillPoint>([
  "initialize sent",
  "id received",
  "before save",
  "during save",
  "saved",
]);

/** Points after the save of a step that starts the session, and of one that goes on in it as well. */
const pointsOfAnyStep: ReadonlySet<KillPoint> = new Set<KillPoint>([
  "call sent",
  "answer half read",
]);

/** Points at which the server has a session that nobody has saved: all that a crash may lose. */
const pointsBeforeSave: ReadonlySet<KillPoint> = new Set<KillPoint>([
  "initialize sent",
  "id received",
  "before save",
  "during save",
]);

/** Points that the server's side sees: its answer is held back there. */
const pointsAtServer: ReadonlySet<KillPoint> = new Set<KillPoint>([
  "initialize sent",
  "call sent",
  "during end",
]);

interface KilledStepTask {
  readonly url: string;
  readonly sessionId: string;
  readonly note: string;
}

type Count = "resumed" | "started" | "leftBehind";

/** Steps, each a process of its own. The next step is taken after each kill. */
export const killedSteps: KillSubject<KillPoint, KilledStepTask, Count> = {
  name: "steps",
  points: killPoints,
  counts: {
    // It found a committed session, and went on in it.
    resumed: "next step resumed",
    // No session was committed.
    started: "next step started anew",
    // Nobody had saved them.
    leftBehind: "unsaved sessions left on the server",
  },
  openWorld: openNotebook,
  work: takeStep,
  stopAt: (point) => ({
    on: point === "id received" ? "initialize" : "add_note",
    at: atPoints[point]!,
  }),
};

async function openNotebook(
  store: SessionStore,
): Promise<KillWorld<KillPoint, KilledStepTask, Count>> {
  const server = await startNotebookServer();
  const proxy = await createFaultyProxy({ target: server.url });

  const newProcess = () => createNotebookSessions({ url: proxy.url, store });

  const round = async (killed: KillRound<KillPoint, KilledStepTask, Count>): Promise<void> => {
    const { point, sessionId, before, kill, thaw, count, fault } = killed;
    // Of those that may be of either, every other one is of a step that starts the session.
    const isEither = pointsOfAnyStep.has(point);
    const isFirst = pointsOfFirstStep.has(point) || (isEither && before % 2 === 1);
    const isSaved = isEither || point === "saved" || (!isFirst && point !== "during end");
    if (!isFirst) {
      await newProcess().sessions.run(sessionId, { principal }, async (run) =>
        callNotebook(await run.tools(), "add_note", { text: `${sessionId} before` }),
      );
    }

    const note = `${sessionId} killed`;
    const held = pointsAtServer.has(point) ? proxy.holdAnswer({ on: holdsAt[point] }) : undefined;
    await kill({ url: proxy.url, sessionId, note }, held?.reached);
    held?.release();

    const committed = await readKind(newProcess(), sessionId);
    const { sessions, events } = newProcess();
    let notes: string[] = [];
    await sessions
      .run(sessionId, { principal }, async (run) => {
        const tools = await run.tools();
        await callNotebook(tools, "add_note", { text: `${sessionId} after` });
        notes = (await callNotebook(tools, "list_notes")).split("\n");
      })
      .catch((error: unknown) => fault(`the next step failed: ${String(error)}`));

    if (committed === "session") {
      count("resumed");
      if (events[0] !== "resumed") fault(`a committed session was not resumed: ${events.join()}`);
      if (!isFirst && !notes.includes(`${sessionId} before`)) fault("a committed session was lost");
    } else {
      count("started");
      const isNew = events.some((type) => type === "started" || type === "recovered");
      if (!isNew) fault(`no session was started: ${events.join()}`);
      if (isSaved) fault("the session was not saved when it was used");
    }
    if (!notes.includes(`${sessionId} after`)) fault("the next step did not go on");
    const isThawed = await thaw();
    if (isThawed) {
      const last = createNotebookSessions({ url: proxy.url, store });
      await last.sessions.run(sessionId, { principal }, async (run) => {
        notes = (await callNotebook(await run.tools(), "list_notes")).split("\n");
      });
      if (!notes.includes(`${sessionId} after`)) fault("the session of others was written over");
    }
    const stats = await server.stats();
    const repeated = Object.values(stats.notesAdded).filter((calls) => calls > 1).length;
    if (repeated > 0) fault("a call was repeated");
    const isCalled = isEither || (isThawed && point !== "during end");
    if ((stats.notesAdded[note] ?? 0) !== (isCalled ? 1 : 0)) fault("a call was not sent once");
    const leftBehind = stats.sessions - 1;
    count("leftBehind", leftBehind);
    const mayLeave = !isThawed && pointsBeforeSave.has(point) && committed !== "session" ? 1 : 0;
    if (leftBehind < 0 || leftBehind > mayLeave) fault(`${stats.sessions} sessions on the server`);

    await sessions.end(sessionId, { principal });
    await server.forget();
  };

  return {
    round,
    async close() {
      await proxy.close();
      await server.stop();
    },
  };
}

/** The requests whose answers the server's side holds back. */
const holdsAt: Partial<Record<KillPoint, string>> = {
  "initialize sent": "initialize",
  "call sent": "add_note",
  "during end": "DELETE",
};

async function readKind(
  { sessions }: ReturnType<typeof createNotebookSessions>,
  sessionId: string,
): Promise<string | undefined> {
  const [entry] = (await sessions.list({ principal, sessionId })).sessions;
  return entry?.kind;
}

const atPoints: Partial<Record<KillPoint, StepPoint>> = {
  "before load": "before-load",
  loaded: "after-load",
  "id received": "after-answer",
  "before save": "before-save",
  "during save": "during-save",
  saved: "after-save",
  "answer half read": "during-answer",
};

/** One step. */
async function takeStep(
  { url, sessionId, point, note }: KilledTask<KillPoint, KilledStepTask>,
  { store, watch }: StepContext & { readonly store: SessionStore },
): Promise<void> {
  const { sessions } = createNotebookSessions({ url, store: watch(store) });
  if (point === "during end") return void (await sessions.end(sessionId, { principal }));
  await sessions.run(sessionId, { principal }, async (run) =>
    callNotebook(await run.tools(), "add_note", { text: note }),
  );
}
