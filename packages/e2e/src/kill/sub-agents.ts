import type { SessionStore } from "@durable-mcp/core";
import type { StepContext } from "@durable-mcp/testing";
import type { ModelMessage } from "ai";
import { startAuthorizationServer } from "../authorization/authorization-server.ts";
import { startLockedServer } from "../authorization/locked-server.ts";
import { startAskingServer } from "../servers/asking.ts";
import {
  type NestedResult,
  type NestedUse,
  type Shape,
  signInBefore,
  start,
  waitingOf,
  type Work,
  work,
} from "../sub-agents/nested-agents.ts";
import {
  type KilledTask,
  type KillRound,
  type KillSubject,
  type KillWorld,
  stopAtPoint,
} from "./harness.ts";

/** Who keeps the sub-agent's messages, what is done, and where in it the process is killed. */
type Point = `${Shape}, ${Work}: ${string}`;
type WaitsFor = NestedUse["waitsFor"];

const sends = ["call sent", "answer received"];
const puts = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    ["before", "during", "after"].map((when) => `${when} put ${index + 1}`),
  ).flat();

/**
 * Of the writes of waiting calls, the first one that asks keeps the sub-agent's call, the second one the root's. Who
 * goes on claims the root's call, settles what has waited for a sign-in (two writes), notes that the sub-agent has the
 * result, settles the root's call, and notes that the root has it; "again" keeps the sub-agent's next call and the root's. `killedAnswers` and `killedSignIns` kill people's
 * processes at more points.
 */
const putsOf: Readonly<Record<WaitsFor, Readonly<Partial<Record<Work, number>>>>> = {
  question: { ask: 2, answer: 4, again: 4, resume: 4 },
  "sign-in": { ask: 2, resume: 6 },
};

/** Works in which the server is called. */
const calls = new Set<`${WaitsFor} ${Work}`>([
  "question ask",
  "question again",
  "sign-in ask",
  "sign-in resume",
]);

/** Three processes; or five, with a second question. */
const worksOf: Readonly<Record<WaitsFor, readonly Work[]>> = {
  question: ["ask", "answer", "again", "answer", "resume"],
  "sign-in": ["ask", "answer", "resume"],
};

const shapes: readonly Shape[] = ["kept", "own", "durable"];

function killPoints(waitsFor: WaitsFor): Point[] {
  return shapes.flatMap((shape) =>
    (Object.entries(putsOf[waitsFor]) as [Work, number][]).flatMap(([what, count]) => {
      // The application keeps the messages with one more write.
      const own = shape === "own" && what !== "answer" ? 1 : 0;
      const points = [...(calls.has(`${waitsFor} ${what}`) ? sends : []), ...puts(count + own)];
      return points.map((point): Point => `${shape}, ${what}: ${point}`);
    }),
  );
}

/** Between the claim of the sub-agent's call and its end. The root's call has no such point: its sub-agent goes on. */
const pointsOfUnknown: Readonly<Record<WaitsFor, RegExp>> = {
  question: /answer: (after put [13]|before put [24])/,
  "sign-in": /resume: (after put 2|call sent|answer received|before put 3)/,
};

interface KilledAgentsTask {
  readonly use: NestedUse;
  readonly messages: readonly ModelMessage[];
}

type Count = "settled" | "unknown";
type Round = KillRound<Point, KilledAgentsTask, Count>;

/**
 * Processes in whose sub-agent a call waits: they ask, answer, or go on. Others do the same work again after the
 * kill, and the rest of it.
 */
function createSubject(waitsFor: WaitsFor): KillSubject<Point, KilledAgentsTask, Count> {
  return {
    name: `sub-agents ${waitsFor}`,
    points: killPoints(waitsFor),
    counts: { settled: "the root has the answer", unknown: "outcome unknown" },
    openWorld: (store) => openWorld(store, waitsFor),
    work: workInAgents,
    stopAt: stopAtPoint,
  };
}

export const killedSubAgents = createSubject("question");
export const killedSignInsBelow = createSubject("sign-in");

/** Later than any sign of life of the process that was killed. */
const later = () => Date.now() + 120_000;

async function openWorld(
  store: SessionStore,
  waitsFor: WaitsFor,
): Promise<KillWorld<Point, KilledAgentsTask, Count>> {
  const server = await (waitsFor === "question" ? openShop() : openNotes());

  const round = async (killed: Round): Promise<void> => {
    const { point, sessionId, before, kill, thaw, count, fault } = killed;
    const [shape, ofWork] = point.split(", ") as [Shape, `${Work}: ${string}`];
    const killedWork = ofWork.split(":")[0] as Work;
    // All ways of a shape in turn.
    const turn = before + killPoints(waitsFor).indexOf(point);
    const major = shape === "durable" || turn % 2 === 0 ? 7 : 6;
    const how = turn % 4 < 2 ? "generate" : "stream";
    const use: NestedUse = { shape, major, how, waitsFor, url: server.url, sessionId };
    if (waitsFor === "sign-in") {
      await signInBefore(use, { store });
      await server.revoke(sessionId);
    }
    let result: NestedResult = { messages: start, rootTold: [], innerTold: [] };
    let asked = start;
    // Writes are signs of life, so those before the kill are not later.
    let now = Date.now;
    for (const what of worksOf[waitsFor]) {
      const { messages } = result;
      if (what === "resume") asked = messages;
      if (what === killedWork && now !== later) {
        await kill({ use, messages });
        now = later;
      }
      result = await work(what, use, { store, messages, now });
    }
    const said = JSON.stringify([result.rootTold, result.messages]);
    if (await thaw()) {
      const again = await work("resume", use, { store, messages: asked, now: later });
      if (JSON.stringify([again.rootTold, again.messages]) !== said)
        fault("the result is another now");
    }
    const isUnknown = [said, ...result.innerTold].some((text) => text.includes("unknown"));
    count(isUnknown ? "unknown" : "settled");
    if ((await waitingOf(use, { store, now: later })).length > 0) fault("something still waits");
    const texts = waitsFor === "question" ? [sessionId, `${sessionId}, too`] : [sessionId];
    const dones = texts.map(server.done);
    const isBetween = pointsOfUnknown[waitsFor].test(ofWork);
    judge({ isBetween, point, said, isUnknown, dones }).forEach(fault);
  };

  return {
    round,
    close: () => server.close(),
  };
}

async function openShop() {
  const shop = await startAskingServer();
  return {
    url: shop.url,
    done: (text: string) => shop.orders().filter(({ item }) => item === text).length,
    revoke: async () => undefined,
    close: () => shop.stop(),
  };
}

async function openNotes() {
  const authorization = await startAuthorizationServer();
  const locked = await startLockedServer({ sdk: 1, issuer: authorization.issuer });
  return {
    url: locked.url,
    done: (text: string) => locked.runs(`"${text}"`),
    revoke: (user: string) => authorization.revokeGrants(user),
    async close() {
      await locked.stop();
      await authorization.stop();
    },
  };
}

/** What must not be of a conversation that was brought to its end. */
function judge(end: {
  readonly point: Point;
  /** Whether nobody can know what became of a call. */
  readonly isBetween: boolean;
  readonly said: string;
  readonly isUnknown: boolean;
  /** How often the server has carried out each call. */
  readonly dones: readonly number[];
}): string[] {
  const { point, isBetween, said, isUnknown, dones } = end;
  const wrong: [boolean, string][] = [
    [dones.some((times) => times > 1), "a call was carried out twice"],
    [!isUnknown && dones.includes(0), "a call was not carried out"],
    [!said.includes("It is done."), "the sub-agent's answer was lost"],
    [!said.includes("The root is done."), "the root did not go on"],
    [!isUnknown && isBetween, "something was done again after a claim"],
    [isUnknown && !isBetween && !point.includes("during put"), "what was kept is unknown"],
  ];
  return wrong.flatMap(([isWrong, text]) => (isWrong ? [text] : []));
}

/** Asks, answers or goes on. */
async function workInAgents(
  { point, use, messages }: KilledTask<Point, KilledAgentsTask>,
  { store, watch }: StepContext & { readonly store: SessionStore },
): Promise<void> {
  const watched = watch(store);
  const [, what = ""] = /, (\w+):/.exec(point) ?? [];
  await work(what as Work, use, {
    messages,
    // The MCP session's record is marked as used now and then.
    store: {
      ...store,
      put: (...args) => (/waiting\/|^history\//.test(args[0]) ? watched : store).put(...args),
    },
  });
}
