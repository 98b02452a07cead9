import { startNotebookServer } from "../servers/notebook.ts";
import { type ForkedProgram, forkProgram } from "./fork-program.ts";
import { callNotebook, createNotebookSessions, principal } from "./notebook-sessions.ts";
import type { OpenerReport, OpenerTask } from "./opener-protocol.ts";
import { openStoreAt, startStorePlace, type StoreKind } from "./store-place.ts";

const processCount = 6;

/** What became of one round of six processes. */
export interface OpenerRound {
  readonly round: number;
  readonly kind: "first open" | "loss";
  /** Sessions that live on the server afterwards. */
  readonly liveSessions: number;
  /** Notes in the one session that the next step finds; each process has added one. */
  readonly notes: number;
  /** How many processes made a session of their own and gave it up. */
  readonly adopted: number;
  /** Calls of `add_note` that the server was sent. */
  readonly calls: number;
  /** Sessions that live on the server when the agent session was ended; counted after a loss. */
  readonly leftBehind: number;
}

/**
 * Six long-lived processes open the same agent session at once, or one each with a session that all share:
 * first, and after the server has
 * forgotten its session. In every other round they meet when each has a session to save, so that
 * all but one have to give theirs up.
 */
export async function runTwoOpeners({
  store: kind,
  rounds,
  shared,
}: {
  store: StoreKind;
  rounds: number;
  /** The id of the session that the agent sessions share. @default one agent session for all */
  shared?: string | undefined;
}): Promise<OpenerRound[]> {
  const place = await startStorePlace(kind);
  const server = await startNotebookServer();
  const openers = Array.from({ length: processCount }, () =>
    forkProgram<OpenerTask, OpenerReport>("opener-program.ts"),
  );
  const opened = await openStoreAt(place);
  const { sessions } = createNotebookSessions({ url: server.url, store: opened.store, shared });
  const results: OpenerRound[] = [];
  try {
    await allWait(openers);
    const { kind: storeKind, at } = place;
    for (const opener of openers) {
      opener.send({ type: "start", url: server.url, place: { kind: storeKind, at }, shared });
    }
    for (let round = 1; round <= rounds; round += 1) {
      const sessionId = `chat ${round}`;
      for (const loss of [false, true]) {
        await allWait(openers);
        const meetAt = round % 2 === 0 ? "start" : "save";
        const label = `${round} ${loss ? "loss" : "first"}`;
        for (const [index, opener] of openers.entries()) {
          const own = shared === undefined ? sessionId : `${sessionId} of ${index}`;
          opener.send({ type: "round", sessionId: own, loss, meetAt, note: `${label} ${index}` });
        }
        if (loss) {
          await allWait(openers);
          await server.forget();
          go(openers);
        }
        await allWait(openers);
        go(openers);
        const reports = await Promise.all(openers.map((opener) => opener.receive()));
        const { sessions: liveSessions, notesAdded } = await server.stats();
        const found = await sessions.run(sessionId, { principal }, async (run) =>
          callNotebook(await run.tools(), "list_notes"),
        );
        const notes = found.split("\n").filter((text) => text.startsWith(label)).length;
        const added = Object.entries(notesAdded).filter(([text]) => text.startsWith(label));
        if (loss && shared === undefined) await sessions.end(sessionId, { principal });
        else if (loss) await sessions.end({ shared: shared! }, { principal });
        results.push({
          round,
          kind: loss ? "loss" : "first open",
          liveSessions,
          notes,
          adopted: reports.filter((report) => report.type === "done" && report.adopted).length,
          calls: added.reduce((sum, [, count]) => sum + count, 0),
          leftBehind: loss ? (await server.stats()).sessions : 0,
        });
      }
    }
    await allWait(openers);
    for (const opener of openers) opener.send({ type: "end" });
    return results;
  } finally {
    await Promise.all(openers.map((opener) => opener.kill()));
    await opened.close?.();
    await server.stop();
    await place.remove();
  }
}

type Opener = ForkedProgram<OpenerTask, OpenerReport>;

async function allWait(openers: readonly Opener[]): Promise<void> {
  const reports = await Promise.all(openers.map((opener) => opener.receive()));
  const other = reports.find(({ type }) => type !== "waiting");
  if (other !== undefined) throw new Error(`A process was to wait, and was ${other.type}.`);
}

function go(openers: readonly Opener[]): void {
  for (const opener of openers) opener.send({ type: "go" });
}

/** What is wrong with a round, in words; nothing when it is as it has to be. */
export function faultsOf({ round, kind, liveSessions, notes, calls, leftBehind }: OpenerRound) {
  const faults = [
    liveSessions === 1 ? [] : [`${liveSessions} sessions live on the server`],
    notes === processCount ? [] : [`${notes} of ${processCount} notes are in one session`],
    calls === processCount ? [] : [`${calls} calls instead of ${processCount}`],
    leftBehind === 0 ? [] : [`${leftBehind} sessions were left behind`],
  ].flat();
  return faults.map((fault) => `round ${round}, ${kind}: ${fault}`);
}
