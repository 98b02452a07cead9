import { startRoundRobin, type RoundRobin } from "../wire/round-robin.ts";
import type { TestServer } from "../servers/server-process.ts";

/** How a replica ends: with SIGKILL, or as in a deploy: no more requests, then SIGTERM; or not at all. */
export const replicaEnds = ["kill", "drain", "none"] as const;
export type ReplicaEnd = (typeof replicaEnds)[number];

export interface EndingReplicas {
  readonly startReplica: () => Promise<TestServer>;
  readonly how: ReplicaEnd;
  readonly random: () => number;
  /** Whether connections break as well, in the middle of answers. @default false */
  readonly breaksAnswers?: boolean;
}

/**
 * Starts two replicas behind a round robin. While clients work, replicas end at random, one at a time, and start
 * again.
 *
 * @returns what came of the work, with the number of ends
 */
export async function workWithEndingReplicas<RESULT extends object>(
  { startReplica, how, random, breaksAnswers = false }: EndingReplicas,
  work: (roundRobin: RoundRobin) => Promise<RESULT>,
): Promise<RESULT & { readonly kills: number; readonly seconds: number }> {
  const startedAt = Date.now();
  const replicas = await Promise.all([startReplica(), startReplica()]);
  const roundRobin = await startRoundRobin(replicas.map(({ url }) => new URL(url)));
  const working = new AbortController();
  const { signal } = working;
  let kills = 0;

  const endReplicas = async () => {
    for (;;) {
      await wait(100 + random() * 400);
      if (signal.aborted) return;
      const replica = replicas[Math.floor(random() * replicas.length)]!;
      kills += 1;
      if (how === "kill") await replica.restart();
      else {
        roundRobin.setServing(replica.url, false);
        await replica.restartPolitely();
        roundRobin.setServing(replica.url, true);
      }
    }
  };
  const breakAnswers = async () => {
    while (!signal.aborted) {
      await wait(200 + random() * 600);
      roundRobin.breakAnswers();
    }
  };

  try {
    const ending = how === "none" ? undefined : endReplicas();
    const breaking = breaksAnswers ? breakAnswers() : undefined;
    const result = await work(roundRobin);
    working.abort();
    await Promise.all([ending, breaking]);
    return { ...result, kills, seconds: Math.round((Date.now() - startedAt) / 100) / 10 };
  } finally {
    working.abort();
    await roundRobin.close();
    await Promise.all(replicas.map((replica) => replica.stop()));
  }
}

export const hungAfterMs = 30_000;

/** What `withinTime` rejects with. */
export const hung = new Error("no answer");

/** Rejects with `hung` when there is no answer in time. */
export async function withinTime<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeOut = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(hung), hungAfterMs);
  });
  return await Promise.race([promise, timeOut]).finally(() => clearTimeout(timer));
}

/** Tries again until it works, or until `isOver`. */
export async function untilItWorks<T>(
  attempt: () => Promise<T>,
  isOver: (error: unknown) => boolean,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (isOver(error)) throw error;
      await wait(20);
    }
  }
}

export const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
