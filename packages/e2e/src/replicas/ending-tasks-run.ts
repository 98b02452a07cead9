import { programArguments } from "../processes/programs.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";
import { type ReplicaEnd, untilItWorks, wait, workWithEndingReplicas } from "./ending-replicas.ts";
import { randomFromSeed } from "./random-from-seed.ts";
import { answerTask, callTool, getTask, type Task, textOf } from "./task-client.ts";

const script = new URL("../fixtures/researching-server.ts", import.meta.url);

export const startResearchingServer = (store: string, ...more: string[]): Promise<TestServer> =>
  startServerProcess({
    name: "researching server",
    args: (port) => [
      ...[...programArguments(script), "--port", String(port), "--store", store],
      ...more,
    ],
  });

/** What became of all calls that were to be tasks. */
export interface EndingTasks {
  readonly calls: number;
  readonly completed: number;
  /** Failed, saying that the work may have been done. */
  readonly unknown: number;
  /** The connection broke before there was a task. */
  readonly broken: number;
  /** Any other end. */
  readonly other: number;
  /** Without an end after a minute. */
  readonly hung: number;
  /** Results of another call, or with another answer than was given. */
  readonly foreign: number;
  /** Completed calls that were not carried out, or not as often as they say. */
  readonly lost: number;
  readonly doubled: number;
  /** Questions that were there again after their answer was taken. */
  readonly askedTwice: number;
  /** Failures of a tool that runs again. */
  readonly givenUp: number;
  readonly kills: number;
  readonly seconds: number;
}

type Tally = { -readonly [KEY in keyof EndingTasks]: number };

const atOnce = 8;
const hungAfterMs = 60_000;

/** Eight clients make tasks one after the other, half of which ask, while replicas end at random. */
export async function runEndingTasks({
  store,
  calls,
  seed,
  how = "kill",
}: {
  readonly store: string;
  readonly calls: number;
  readonly seed: number;
  /** @default "kill" */
  readonly how?: ReplicaEnd;
}): Promise<EndingTasks> {
  const random = randomFromSeed(seed);
  const tally: Tally = {
    ...{ calls: 0, completed: 0, unknown: 0, broken: 0, other: 0, hung: 0, foreign: 0, lost: 0 },
    ...{ doubled: 0, askedTwice: 0, givenUp: 0, kills: 0, seconds: 0 },
  };
  const startReplica = () => startResearchingServer(store);
  return await workWithEndingReplicas({ startReplica, how, random }, async ({ url }) => {
    const completed = new Set<string>();
    const lanes = Array.from({ length: atOnce }, async () => {
      while (tally.calls < calls) {
        const topic = `<${(tally.calls += 1)}>`;
        if (await makeTask({ url, topic, random, tally })) completed.add(topic);
      }
    });
    await Promise.all(lanes);
    const deadline = Date.now() + hungAfterMs;
    const done = await untilItWorks(
      async () => JSON.parse(textOf({ result: (await callTool(url, "done", {})) as never })),
      () => Date.now() > deadline,
    );
    for (const topic of completed) if (!done.includes(topic)) tally.lost += 1;
    tally.doubled = done.length - new Set(done).size;
    return tally;
  });
}

interface Call {
  readonly url: string;
  readonly topic: string;
  readonly random: () => number;
  readonly tally: Tally;
}

/** @returns whether it was completed, with its own result */
async function makeTask({ url, topic, random, tally }: Call): Promise<boolean> {
  const tool = random() < 0.5 ? "research" : "research_again";
  const year = random() < 0.5 ? undefined : String(1900 + Math.floor(random() * 100));
  const args = { topic, ms: Math.floor(random() * 400), asks: year !== undefined };
  const begun = await callTool(url, tool, args).catch(() => undefined);
  if (!begun) {
    tally.broken += 1;
    return false;
  }
  if (begun.taskId === undefined) {
    tally.other += 1;
    console.error(begun);
    return false;
  }
  const end = await follow(url, begun.taskId, year, tally);
  if (!end) tally.hung += 1;
  else if (end.status === "completed") {
    const isOwn = textOf(end) === `All about ${topic}${year === undefined ? "" : ` in ${year}`}.`;
    if (!isOwn) tally.foreign += 1;
    tally.completed += 1;
    return isOwn;
  } else if (end.status === "failed" && end.error?.data?.code === "OUTCOME_UNKNOWN") {
    tally.unknown += 1;
    if (tool === "research_again") tally.givenUp += 1;
  } else {
    tally.other += 1;
    console.error(end);
  }
  return false;
}

/** Looks and answers until the task has ended. */
async function follow(
  url: string,
  taskId: string,
  year: string | undefined,
  tally: Tally,
): Promise<Task | undefined> {
  const deadline = Date.now() + hungAfterMs;
  let isAnswered = false;
  while (Date.now() < deadline) {
    await wait(50);
    const task = await getTask(url, taskId).catch((error: Error & { code?: number }) => {
      // A task that is unknown is no broken connection.
      if (error.code === -32_602) throw error;
      return undefined;
    });
    if (task?.status === "input_required") {
      if (isAnswered) tally.askedTwice += 1;
      isAnswered = await answerTask(url, task, year!).then(
        () => true,
        () => false,
      );
    } else if (task && task.status !== "working") return task;
  }
  return undefined;
}
