import type { SessionStore } from "@durable-mcp/core";
import type { StepContext } from "@durable-mcp/testing";
import { type SlowKind, slowKinds } from "../../../ai-sdk/test/slow-server.ts";
import { type SlowProgram, startSlowProgram } from "../servers/slow.ts";
import { createLab, type LabUse } from "../waiting/waiting-lab.ts";
import {
  type KilledTask,
  type KillRound,
  type KillSubject,
  type KillWorld,
  stopAtPoint,
} from "./harness.ts";
import { type EndOfCall, type Fate, startKeptCall } from "./kept-call.ts";

/**
 * What a process does when it is killed: it makes a call, whose record is written when it waits or first; it looks and
 * finds a call at work, its question, or its result; it answers the question; it takes the result.
 */
type KilledWork = "park" | "park first" | "look" | "ask" | "answer" | "settle" | "resume";

type TaskKillPoint = `${SlowKind}, ${KilledWork}: ${string}`;

/** Each of the first writes of a process, on its way and done. */
function puts(count: number): string[] {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  return numbers.flatMap((number) => [`during put ${number}`, `after put ${number}`]);
}

/** What a process sends until the server has it, and until the whole answer is there. */
function sends(...methods: readonly string[]): string[] {
  return methods.flatMap((method) => [`${method} sent`, `${method} received`]);
}

/**
 * Where a process is killed: at each write of its call's record and of what leads to it while it is due, and at each
 * request. A stream that can be resumed does not end.
 */
function pointsOf(kind: SlowKind): Readonly<Record<KilledWork, readonly string[]>> {
  if (kind === "stream") {
    return {
      park: ["tools/call sent", ...puts(2)],
      // The claim; how the call is found again; its entry; the call as it waits.
      "park first": ["tools/call sent", ...puts(4)],
      look: ["GET sent", ...puts(2)],
      ask: ["GET sent", ...puts(2)],
      answer: ["after delete 1", "answer sent", ...puts(2)],
      settle: ["GET sent", ...puts(2), "after delete 1"],
      resume: puts(1),
    };
  }
  const isModern = kind === "task of 2026-07-28";
  return {
    park: [...sends("tools/call"), ...puts(2)],
    // A session's call may be found on its stream before it is a task.
    "park first": [...sends("tools/call"), ...puts(4)],
    look: [...sends("tasks/get"), ...puts(2)],
    ask: isModern
      ? [...sends("tasks/get"), ...puts(2)]
      : [...sends("tasks/get"), "tasks/result sent", ...puts(4)],
    answer: ["after delete 1", ...(isModern ? sends("tasks/update") : ["answer sent"]), ...puts(3)],
    settle: [
      ...sends("tasks/get", ...(isModern ? [] : ["tasks/result"])),
      ...puts(2),
      "after delete 1",
    ],
    resume: puts(1),
  };
}

const taskKillPoints: readonly TaskKillPoint[] = slowKinds.flatMap((kind) =>
  Object.entries(pointsOf(kind)).flatMap(([work, places]) =>
    places.map((place) => `${kind}, ${work as KilledWork}: ${place}` as const),
  ),
);

function readPoint(point: TaskKillPoint) {
  const [, kind, work, place] = /^(.*), (.*): (.*)$/.exec(point)!;
  return { kind: kind as SlowKind, work: work as KilledWork, place: place! };
}

/** What may become of a call whose process is killed there. */
function fatesOf(point: TaskKillPoint): readonly Fate[] {
  const { kind, work, place } = readPoint(point);
  const isSend = place.startsWith("tools/call");
  if (work === "park") {
    if (isSend || place.endsWith("put 1")) return ["lost"];
    return place === "during put 2" ? ["lost", "settled"] : ["settled"];
  }
  if (work === "park first") {
    if (place === "during put 1") return ["settled", "unknown"];
    if (isSend || place === "after put 1") return ["unknown"];
    // What is noted of a session's stream may be on its way still when the call is left, and its entry comes first.
    const isNoting = kind !== "task of 2026-07-28" && /put [23]$/.test(place);
    return place === "during put 2" || isNoting ? ["settled", "unknown"] : ["settled"];
  }
  // A session's task asks once, on a stream that has to be known.
  const isAsking = work === "ask" && kind === "task of 2025-11-25";
  if (isAsking && ["tasks/result sent", "during put 2"].includes(place))
    return ["settled", "unknown"];
  // A session's server asks once, and an answer that was perhaps sent is not sent again.
  if (work === "answer" && kind !== "task of 2026-07-28") {
    if (place === "during put 1") return ["settled", "unknown"];
    if (place === "after put 1" || place === "after delete 1") return ["unknown"];
  }
  return ["settled"];
}

interface KilledCallTask {
  readonly use: LabUse;
  /** The call that waits. */
  readonly id?: string | undefined;
}

type Round = KillRound<TaskKillPoint, KilledCallTask, Fate>;

/** Processes that make, look at, answer and end calls which their server keeps. Others bring each to its end. */
export const killedTasks: KillSubject<TaskKillPoint, KilledCallTask, Fate> = {
  name: "tasks",
  // Looks listen.
  lanes: 5,
  points: taskKillPoints,
  counts: {
    settled: "settled afterwards",
    unknown: "outcome unknown",
    // It has no record yet: its step is lost, as it was before.
    lost: "without a record",
  },
  openWorld,
  work: workInLab,
  stopAt(point) {
    const [, on = ""] = /(\S+) (?:sent|received)$/.exec(point) ?? [];
    // What has no method is told by its URL.
    return stopAtPoint(point, on.startsWith("t") ? on : "/mcp");
  },
};

/** How far the clock of the process that is killed is ahead: what was prepared for it is due. */
const killedAheadMs = 20_000;

async function openWorld(
  store: SessionStore,
): Promise<KillWorld<TaskKillPoint, KilledCallTask, Fate>> {
  const servers = new Map<SlowKind, SlowProgram>();
  for (const kind of slowKinds) servers.set(kind, await startSlowProgram(kind));

  const round = async (killed: Round): Promise<void> => {
    const { point, sessionId, kill, thaw, count, fault } = killed;
    const { kind, work } = readPoint(point);
    const server = servers.get(kind)!;
    const record = work === "park first" ? "first" : "late";
    const use: LabUse = { kind, url: server.url, sessionId, record };
    const call = startKeptCall(server, use, store);
    const begun = stateBefore[work];
    const id = begun && (await call.begin(begun, work === "answer" || work === "resume"));
    await kill({ use, id });
    call.passClaims();
    let end = await call.bringToEnd(fault);
    const isThawed = await thaw();
    if (isThawed) {
      const again = await call.bringToEnd(fault);
      if (end.fate === "settled" && again.said !== end.said) fault("the result is another now");
      end = again;
    }
    count(end.fate);
    judge(point, call, end, isThawed).forEach(fault);
    await call.newProcess().end();
  };

  return {
    round,
    async close() {
      for (const server of servers.values()) await server.close();
    },
  };
}

/** How the server is with a call that was made before the kill. */
const stateBefore: Readonly<Partial<Record<KilledWork, "working" | "asking" | "done">>> = {
  look: "working",
  ask: "asking",
  answer: "asking",
  settle: "done",
  resume: "done",
};

/** What must not be of a call that was brought to its end. */
function judge(
  point: TaskKillPoint,
  { works, years }: ReturnType<typeof startKeptCall>,
  { fate, said }: EndOfCall,
  isThawed: boolean,
): string[] {
  const { kind } = readPoint(point);
  const calls = works();
  const [{ topic, year } = { topic: "" }] = calls;
  const result = `"All about ${topic}${year === undefined ? "" : ` in ${year}`}."`;
  const fates = fatesOf(point);
  // What is thawed keeps what it has done.
  const isExpected = fates.includes(fate) || (isThawed && fate === "settled");
  // A task of 2026-07-28 takes the first answer to a question, and no other.
  const mostAnswers = kind === "task of 2026-07-28" ? 2 : 1;
  const wrong: [boolean, string][] = [
    [calls.length > 1, "it was carried out twice"],
    [years.length > mostAnswers, `its question was answered ${years.length} times`],
    [year !== years[0], "another answer than the first was taken"],
    [fate === "settled" && !said.includes(result), `its result was lost: ${said}`],
    [!isExpected, `it is ${fate}, not ${fates.join(" or ")}: ${said}`],
  ];
  return wrong.flatMap(([isWrong, text]) => (isWrong ? [text] : []));
}

/** The keys of calls that wait, and of what leads to those that are due. Others are used now and then. */
const ofCalls = /waiting\/|^due\//;

async function workInLab(
  { point, use, id }: KilledTask<TaskKillPoint, KilledCallTask>,
  { store, watch }: StepContext & { readonly store: SessionStore },
): Promise<void> {
  const watched = watch(store);
  const of = (key: string) => (ofCalls.test(key) ? watched : store);
  const lab = createLab(use, {
    store: {
      ...store,
      put: (...args) => of(args[0]).put(...args),
      delete: (...args) => of(args[0]).delete(...args),
    },
    now: () => Date.now() + killedAheadMs,
  });
  const { work } = readPoint(point);
  if (work.startsWith("park")) return void (await lab.research());
  const [call] = await lab.waiting();
  if (work === "answer") return void (await lab.answer(call!, "1999"));
  if (work === "resume") return void (await lab.resume(id!));
  await lab.look();
}
