import { waitingCallOf } from "@durable-mcp/core/waiting";
import { forkProgram } from "../durable/fork-program.ts";
import {
  openStoreAt,
  startStorePlace,
  type StoreKind,
  type StorePlace,
} from "../durable/store-place.ts";
import { startAskingServer } from "../servers/asking.ts";
import {
  answerKillPoints,
  type AnswerKillPoint,
  pointsOfUnknown,
  workOf,
} from "./answer-kill-points.ts";
import type { KilledAnswerReport, KilledAnswerTask } from "./killed-answer-protocol.ts";
import { answer, createShop, order, principal, resume } from "./waiting-shop.ts";

/** What became of the kills at one point. */
export interface AnswerKillRow {
  readonly point: AnswerKillPoint;
  kills: number;
  /** Calls that were answered to their end after the kill. */
  settled: number;
  /** Calls that ended with an unknown outcome. */
  unknown: number;
  /** What must not be: one line each. */
  readonly faults: string[];
}

/** Kills processes with `kill -9` at each point, `times` in all. Others then bring each call to its end. */
export async function killAnswers({
  store: kind,
  times,
  onKill,
}: {
  store: StoreKind;
  times: number;
  onKill?: (count: number) => void;
}): Promise<AnswerKillRow[]> {
  const { remove, ...place } = await startStorePlace(kind);
  const rows: AnswerKillRow[] = answerKillPoints.map((point) => ({
    ...{ point, kills: 0, settled: 0, unknown: 0 },
    faults: [],
  }));
  const plan = Array.from({ length: times }, (_, index) => rows[index % rows.length]!).entries();
  let count = 0;
  try {
    const lane = async () => {
      const killer = await createKiller(place);
      try {
        for (const [index, row] of plan) {
          await killer.kill(row, `order-${index}.`);
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
  const program = new URL("killed-answer-program.ts", import.meta.url);
  return forkProgram<KilledAnswerTask, KilledAnswerReport>(program);
}

/** Later than any sign of life of the process that was killed. */
const later = () => Date.now() + 120_000;

async function createKiller(place: StorePlace) {
  const server = await startAskingServer();
  const { store, close } = await openStoreAt(place);
  let spare = fork();

  const newProcess = () => createShop({ url: server.url, store, now: later });

  /** Prepares what the process that is killed goes on with. */
  const prepare = async (row: AnswerKillRow, sessionId: string) => {
    if (workOf(row.point) === "ask") return { id: "", round: 1 };
    const shop = newProcess();
    const { id } = waitingCallOf(await order(shop, sessionId))!;
    const isSecond = row.kills % 2 === 1;
    if (workOf(row.point) === "resume" || isSecond) await answer(shop, sessionId, { id, round: 1 });
    if (workOf(row.point) === "resume") await answer(shop, sessionId, { id, round: 2 });
    return { id, round: isSecond ? 2 : 1 };
  };

  const killAt = async (
    point: AnswerKillPoint,
    task: Omit<KilledAnswerTask, "place" | "url" | "point">,
  ) => {
    const process = spare;
    spare = fork();
    await process.receive();
    process.send({ ...task, place, url: server.url, point });
    // The end of the process before its point is a failure of the harness.
    await process.receive();
    return await process.kill();
  };

  const kill = async (row: AnswerKillRow, sessionId: string): Promise<void> => {
    const { point, faults } = row;
    const fault = (text: string) => void faults.push(`${sessionId} ${point}: ${text}`);
    const before = await prepare(row, sessionId);
    const how = await killAt(point, { sessionId, ...before });
    if (how !== "SIGKILL") fault(`ended with ${how}`);
    row.kills += 1;

    if (workOf(point) === "ask") {
      // The step is run again, with the same call of the model.
      const id = waitingCallOf(await order(newProcess(), sessionId))?.id;
      if (id === undefined) return fault("the step that was run again got no placeholder");
      before.id = id;
    }
    const state = await bringToEnd(sessionId, fault);
    const { messages, stillWaiting } = await resume(newProcess(), sessionId, before.id);
    if (stillWaiting.length > 0 || state === "waiting") fault("nobody could settle it");
    const mine = server.journal().filter((line) => line.includes(`"${sessionId}"`));
    const { isUnknown, faults: found } = judge(point, JSON.stringify(messages), mine);
    found.forEach(fault);
    row[isUnknown ? "unknown" : "settled"] += 1;
    await newProcess().end(sessionId, { principal });
  };

  /** Answers as long as the call waits. */
  const bringToEnd = async (sessionId: string, fault: (text: string) => void) => {
    for (let round = 0; round < 5; round += 1) {
      const shop = newProcess();
      const [call] = await shop.waiting(sessionId, { principal });
      if (call === undefined) return "over";
      if (call.state !== "waiting") fault(`it is still ${call.state}, and its process is gone`);
      await answer(shop, sessionId, call);
    }
    return "waiting";
  };

  return {
    kill,
    async close() {
      await spare.kill();
      await close?.();
      await server.stop();
    },
  };
}

/**
 * What became of a call that was brought to its end.
 *
 * @param said the conversation with its result
 * @param journal the server's lines of this call
 */
function judge(point: AnswerKillPoint, said: string, journal: readonly string[]) {
  const countOf = (text: string) => journal.filter((line) => line.includes(text)).length;
  const orders = countOf('"kind":"order"');
  const firstLegs = countOf('"kind":"request"') - countOf('"inputResponses"');
  const isUnknown = said.includes("unknown");
  const isBetween = pointsOfUnknown.has(point);
  const wrong: [boolean, string][] = [
    [countOf('"inputResponses":{"confirm"') > 1, "the first answer was sent twice"],
    [countOf('"inputResponses":{"delivery"') > 1, "the second answer was sent twice"],
    [orders > 1, "it was ordered twice"],
    [
      point === "ask: after put 1" && firstLegs !== 1,
      "it was asked again, although it was recorded",
    ],
    [!isUnknown && (orders !== 1 || !said.includes("12:00")), "an answer was lost"],
    [!isUnknown && isBetween, "a leg was sent again after a claim"],
    [isUnknown && !isBetween && !point.includes("during put"), "what was kept is unknown"],
  ];
  return { isUnknown, faults: wrong.flatMap(([isWrong, text]) => (isWrong ? [text] : [])) };
}

/** The rows as a table. */
export function answerKillTable(rows: readonly AnswerKillRow[]): string {
  const header =
    "| killed | times | settled afterwards | outcome unknown | faults |\n| --- | ---: | ---: | ---: | ---: |";
  const lines = rows.map(({ point, kills, settled, unknown, faults }) =>
    ["", point, kills, settled, unknown, faults.length, ""].join(" | ").trim(),
  );
  return [header, ...lines].join("\n");
}
