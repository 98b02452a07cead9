import { startCountingProxy } from "../wire/counting-proxy.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { forkProgram } from "./fork-program.ts";
import {
  killPoints,
  type KillPoint,
  pointsAtServer,
  pointsBeforeSave,
  pointsOfAnyStep,
  pointsOfFirstStep,
} from "./kill-points.ts";
import type { KilledStepReport, KilledStepTask } from "./killed-step-protocol.ts";
import { callNotebook, createNotebookSessions, principal } from "./notebook-sessions.ts";
import { openStoreAt, startStorePlace, type StoreKind, type StorePlace } from "./store-place.ts";

/** What became of the kills at one point. */
export interface KillRow {
  readonly point: KillPoint;
  kills: number;
  /** Steps after a kill that found a committed session, and went on in it. */
  resumed: number;
  /** Steps after a kill that started a session, because none was committed. */
  started: number;
  /** Server sessions that a kill left behind, which nobody had saved. */
  leftBehind: number;
  /** What must not be: one line each. */
  readonly faults: string[];
}

/**
 * Kills steps, each a process of its own, with `kill -9` at each point, `times` in all, and takes
 * the next step after each.
 */
export async function killSteps({
  store: kind,
  times,
  onKill,
}: {
  store: StoreKind;
  times: number;
  onKill?: (count: number) => void;
}): Promise<KillRow[]> {
  const { remove, ...place } = await startStorePlace(kind);
  const rows: KillRow[] = killPoints.map((point) => ({
    point,
    ...{ kills: 0, resumed: 0, started: 0, leftBehind: 0 },
    faults: [],
  }));
  const plan = Array.from({ length: times }, (_, index) => rows[index % rows.length]!).entries();
  let count = 0;
  try {
    const lane = async () => {
      const killer = await createKiller(place);
      try {
        for (const [index, row] of plan) {
          await killer.kill(row, `chat ${index}`);
          count += 1;
          onKill?.(count);
        }
      } finally {
        await killer.close();
      }
    };
    // One process starts while another is killed.
    await Promise.all([lane(), lane()]);
    return rows;
  } finally {
    await remove();
  }
}

function fork() {
  return forkProgram<KilledStepTask, KilledStepReport>("killed-step-program.ts");
}

async function createKiller(place: StorePlace) {
  const server = await startNotebookServer();
  const proxy = await startCountingProxy(server.url);
  const { store, close } = await openStoreAt(place);
  let spare = fork();

  const newProcess = () => createNotebookSessions({ url: proxy.url, store });

  const kill = async (row: KillRow, sessionId: string): Promise<void> => {
    const { point, faults } = row;
    const fault = (text: string) => void faults.push(`${sessionId}, ${point}: ${text}`);
    // Of those that may be of either, every other one is of a step that starts the session.
    const isEither = pointsOfAnyStep.has(point);
    const isFirst = pointsOfFirstStep.has(point) || (isEither && row.kills % 2 === 1);
    const isSaved = isEither || point === "saved" || (!isFirst && point !== "during end");
    if (!isFirst) {
      await newProcess().sessions.run(sessionId, { principal }, ({ tools }) =>
        callNotebook(tools, "add_note", { text: `${sessionId} before` }),
      );
    }

    const step = spare;
    spare = fork();
    await step.receive();
    const note = `${sessionId} killed`;
    const held = pointsAtServer.has(point) ? proxy.holdAnswer(holdsAt(point)) : undefined;
    step.send({ place, url: proxy.url, sessionId, point, note });
    // The end of the process before its point is a failure of the harness.
    const reached = step.receive();
    await (held ? Promise.race([held.reached, reached]) : reached);
    reached.catch(() => undefined);
    const how = await step.kill();
    held?.release();
    if (how !== "SIGKILL") fault(`ended with ${how}`);
    row.kills += 1;

    const committed = await readKind(newProcess(), sessionId);
    const { sessions, events } = newProcess();
    let notes: string[] = [];
    await sessions
      .run(sessionId, { principal }, async ({ tools }) => {
        await callNotebook(tools, "add_note", { text: `${sessionId} after` });
        notes = (await callNotebook(tools, "list_notes")).split("\n");
      })
      .catch((error: unknown) => fault(`the next step failed: ${String(error)}`));

    if (committed === "session") {
      row.resumed += 1;
      if (events[0] !== "resumed") fault(`a committed session was not resumed: ${events.join()}`);
      if (!isFirst && !notes.includes(`${sessionId} before`)) fault("a committed session was lost");
    } else {
      row.started += 1;
      const isNew = events.some((type) => type === "started" || type === "recovered");
      if (!isNew) fault(`no session was started: ${events.join()}`);
      if (isSaved) fault("the session was not saved when it was used");
    }
    if (!notes.includes(`${sessionId} after`)) fault("the next step did not go on");
    const stats = await server.stats();
    const repeated = Object.values(stats.notesAdded).filter((calls) => calls > 1).length;
    if (repeated > 0) fault("a call was repeated");
    if ((stats.notesAdded[note] ?? 0) !== (isEither ? 1 : 0)) fault("a call was not sent once");
    const leftBehind = stats.sessions - 1;
    row.leftBehind += leftBehind;
    const mayLeave = pointsBeforeSave.has(point) && committed !== "session" ? 1 : 0;
    if (leftBehind < 0 || leftBehind > mayLeave) fault(`${stats.sessions} sessions on the server`);

    await sessions.end(sessionId, { principal });
    await server.forget();
  };

  return {
    kill,
    async close() {
      await spare.kill();
      await close?.();
      await proxy.close();
      await server.stop();
    },
  };
}

function holdsAt(
  point: KillPoint,
): Parameters<Awaited<ReturnType<typeof startCountingProxy>>["holdAnswer"]>[0] {
  if (point === "initialize sent") return ({ rpcMethod }) => rpcMethod === "initialize";
  if (point === "call sent") return ({ tool }) => tool === "add_note";
  return ({ httpMethod }) => httpMethod === "DELETE";
}

async function readKind(
  { sessions }: ReturnType<typeof createNotebookSessions>,
  sessionId: string,
): Promise<string | undefined> {
  const [entry] = await sessions.info(sessionId, { principal });
  return entry?.kind;
}

/** The rows as a table. */
export function killTable(rows: readonly KillRow[]): string {
  const header =
    "| killed | times | next step resumed | next step started anew | unsaved sessions left on the server | faults |\n| --- | ---: | ---: | ---: | ---: | ---: |";
  const lines = rows.map(({ point, kills, resumed, started, leftBehind, faults }) =>
    ["", point, kills, resumed, started, leftBehind, faults.length, ""].join(" | ").trim(),
  );
  return [header, ...lines].join("\n");
}
