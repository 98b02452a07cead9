import type { SessionStore } from "@durable-mcp/core";
import { waitingCallOf } from "@durable-mcp/core/waiting";
import { startAskingServer } from "../servers/asking.ts";
import { answer, createShop, order, principal, resume } from "../waiting/waiting-shop.ts";
import type { StepContext } from "@durable-mcp/testing";
import {
  type KilledTask,
  type KillRound,
  type KillSubject,
  type KillWorld,
  stopAtPoint,
} from "./harness.ts";

/** What a process does when it is killed: it asks (the first leg), answers (a later leg), or takes the result. */
type KilledWork = "ask" | "answer" | "resume";

/** Where a process is killed, in the order of its work. Its first `put` records, claims or notes the delivery. */
const answerKillPoints = [
  "ask: leg sent",
  "ask: answer received",
  "ask: before put 1",
  "ask: during put 1",
  "ask: after put 1",
  "answer: before put 1",
  "answer: during put 1",
  "answer: after put 1",
  "answer: leg sent",
  "answer: answer received",
  "answer: before put 2",
  "answer: during put 2",
  "answer: after put 2",
  "resume: before put 1",
  "resume: after put 1",
] as const;

type AnswerKillPoint = (typeof answerKillPoints)[number];

function workOf(point: AnswerKillPoint): KilledWork {
  return point.split(":")[0] as KilledWork;
}

/** Points after a claim and before its end is kept: nobody can know what became of the leg. */
const pointsOfUnknown: ReadonlySet<AnswerKillPoint> = new Set<AnswerKillPoint>([
  "answer: after put 1",
  "answer: leg sent",
  "answer: answer received",
  "answer: before put 2",
]);

interface KilledAnswerTask {
  readonly url: string;
  readonly sessionId: string;
  /** The waiting call, and the round that is answered. */
  readonly id: string;
  readonly round: number;
}

type Count = "settled" | "unknown";

/** Processes that ask, answer or take a result. Others bring each call to its end after the kill. */
export const killedAnswers: KillSubject<AnswerKillPoint, KilledAnswerTask, Count> = {
  name: "answers",
  points: answerKillPoints,
  counts: { settled: "settled afterwards", unknown: "outcome unknown" },
  openWorld: openShop,
  work: orderInShop,
  stopAt: stopAtPoint,
};

/** Later than any sign of life of the process that was killed. */
const later = () => Date.now() + 120_000;

async function openShop(
  store: SessionStore,
): Promise<KillWorld<AnswerKillPoint, KilledAnswerTask, Count>> {
  const server = await startAskingServer();

  const newProcess = () => createShop({ url: server.url, store, now: later });

  /** Prepares what the process that is killed goes on with. */
  const prepare = async (point: AnswerKillPoint, sessionId: string, isSecond: boolean) => {
    if (workOf(point) === "ask") return { id: "", round: 1 };
    // Its writes are signs of life as well.
    const shop = createShop({ url: server.url, store });
    const { id } = waitingCallOf(await order(shop, sessionId))!;
    if (workOf(point) === "resume" || isSecond) await answer(shop, sessionId, { id, round: 1 });
    if (workOf(point) === "resume") await answer(shop, sessionId, { id, round: 2 });
    return { id, round: isSecond ? 2 : 1 };
  };

  const killRound = async (
    killed: KillRound<AnswerKillPoint, KilledAnswerTask, Count>,
  ): Promise<void> => {
    const { point, sessionId, before, kill, thaw, count, fault } = killed;
    const call = await prepare(point, sessionId, before % 2 === 1);
    await kill({ url: server.url, sessionId, ...call });

    if (workOf(point) === "ask") {
      // The step is run again, with the same call of the model.
      const id = waitingCallOf(await order(newProcess(), sessionId))?.id;
      if (id === undefined) return fault("the step that was run again got no placeholder");
      call.id = id;
    }
    const state = await bringToEnd(sessionId, fault);
    const { messages, stillWaiting } = await resume(newProcess(), sessionId, call.id);
    if (stillWaiting.length > 0 || state === "waiting") fault("nobody could settle it");
    if (await thaw()) {
      const again = await resume(newProcess(), sessionId, call.id);
      if (JSON.stringify(again.messages) !== JSON.stringify(messages))
        fault("the result is another now");
      const open = await newProcess().waiting(sessionId, { principal });
      if (open.length > 0) fault("a call waits again");
    }
    const mine = server.journal().filter((line) => line.includes(`"${sessionId}"`));
    const { isUnknown, faults: found } = judge(point, JSON.stringify(messages), mine);
    found.forEach(fault);
    count(isUnknown ? "unknown" : "settled");
    await newProcess().end(sessionId, { principal });
  };

  /** Answers as long as the call waits. */
  const bringToEnd = async (sessionId: string, fault: (text: string) => void) => {
    for (let round = 0; round < 5; round += 1) {
      const shop = newProcess();
      const entries = await shop.waiting(sessionId, { principal });
      const [call] = entries.filter((entry) => entry.type !== "sign-in");
      if (call === undefined) return "over";
      if (call.state !== "waiting") fault(`it is still ${call.state}, and its process is gone`);
      await answer(shop, sessionId, call);
    }
    return "waiting";
  };

  return {
    round: killRound,
    async close() {
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

/** Asks, answers or takes a result. */
async function orderInShop(
  { url, sessionId, point, id, round }: KilledTask<AnswerKillPoint, KilledAnswerTask>,
  { store, watch }: StepContext & { readonly store: SessionStore },
): Promise<void> {
  const work = workOf(point);
  const shop = createShop({ url, store: watch(store) });
  if (work === "ask") await order(shop, sessionId);
  else if (work === "answer") await answer(shop, sessionId, { id, round });
  else await resume(shop, sessionId, id);
}
