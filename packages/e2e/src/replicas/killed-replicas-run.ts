import { type ClientName, loadClient } from "../clients/index.ts";
import type { McpTestClient } from "../clients/mcp-test-client.ts";
import type { TestServer } from "../servers/server-process.ts";
import { randomFromSeed } from "./random-from-seed.ts";
import { type RoundRobin, startRoundRobin } from "../wire/round-robin.ts";

/** A server of which several processes are started. */
export interface ReplicatedServer {
  readonly name: string;
  readonly startReplica: () => Promise<TestServer>;
  /**
   * A call that leaves `note` in the session. With `delayMs` it takes that long in the server;
   * where a tool cannot wait, the client waits before it calls.
   */
  readonly call: (note: string, delayMs: number) => [tool: string, args: Record<string, unknown>];
  readonly waitsInServer: boolean;
  /** The notes that the session holds; without it nothing is kept to be checked. */
  readonly readNotes?: (client: McpTestClient) => Promise<string[]>;
}

export interface KilledReplicasRun {
  readonly calls: number;
  readonly answered: number;
  /** Calls whose connection broke, or that were told that their outcome is unknown. */
  readonly unknown: number;
  /** Calls that had no answer after 30 seconds. */
  readonly hung: number;
  /** 400 and 404 to requests that carried a session id. */
  readonly sessionErrors: number;
  /** Times a client had to start a new session. */
  readonly newSessions: number;
  /** Notes whose call was answered and that are not there, or not once. */
  readonly lost: number;
  /** Notes that are there twice. */
  readonly doubled: number;
  readonly kills: number;
  readonly refused: number;
  readonly seconds: number;
}

export interface KilledReplicasOptions {
  readonly calls: number;
  readonly seed: number;
  /** @default 600 */
  readonly maxSeconds?: number;
  /** With SIGKILL, or as a deploy does: no more requests, then SIGTERM. @default "kill" */
  readonly how?: "kill" | "drain";
}

const clients: ClientName[] = [
  "@ai-sdk/mcp 2",
  "@ai-sdk/mcp 1",
  "@modelcontextprotocol/sdk 1",
  "@modelcontextprotocol/client 2",
];

const hungAfterMs = 30_000;

/**
 * Each client, in a session of its own, makes its share of `calls` one after the other at two
 * replicas behind a round robin, while replicas are ended at random and started again.
 */
export async function runWithKilledReplicas(
  server: ReplicatedServer,
  { calls, seed, maxSeconds = 600, how = "kill" }: KilledReplicasOptions,
): Promise<KilledReplicasRun> {
  const random = randomFromSeed(seed);
  const startedAt = Date.now();
  const replicas = [await server.startReplica(), await server.startReplica()];
  const roundRobin = await startRoundRobin(replicas.map(({ url }) => new URL(url)));
  const tally = { answered: 0, unknown: 0, hung: 0, newSessions: 0, lost: 0, doubled: 0 };
  const killing = new AbortController();
  try {
    const killer = restartReplicas(replicas, roundRobin, how, random, killing.signal);
    const share = Math.ceil(calls / clients.length);
    const isOver = () => Date.now() - startedAt > maxSeconds * 1_000;
    await Promise.all(
      clients.map((name) => makeCalls(server, name, roundRobin.url, share, random, tally, isOver)),
    );
    killing.abort();
    return {
      calls: share * clients.length,
      ...tally,
      sessionErrors: roundRobin.sessionErrors,
      kills: await killer,
      refused: roundRobin.refused,
      seconds: Math.round((Date.now() - startedAt) / 100) / 10,
    };
  } finally {
    killing.abort();
    await roundRobin.close();
    await Promise.all(replicas.map((replica) => replica.stop()));
  }
}

/** Ends replicas at random, one at a time, and starts them again, until `signal` aborts. @returns how often */
export async function restartReplicas(
  replicas: readonly TestServer[],
  roundRobin: RoundRobin,
  how: "kill" | "drain",
  random: () => number,
  signal: AbortSignal,
): Promise<number> {
  let kills = 0;
  while (!signal.aborted) {
    await sleep(100 + random() * 400);
    if (signal.aborted) break;
    const replica = replicas[Math.floor(random() * replicas.length)]!;
    kills += 1;
    if (how === "kill") {
      await replica.restart();
      continue;
    }
    roundRobin.setServing(replica.url, false);
    await replica.restartPolitely();
    roundRobin.setServing(replica.url, true);
  }
  return kills;
}

type Tally = Record<"answered" | "unknown" | "hung" | "newSessions" | "lost" | "doubled", number>;

async function makeCalls(
  server: ReplicatedServer,
  name: ClientName,
  url: string,
  calls: number,
  random: () => number,
  tally: Tally,
  isOver: () => boolean,
): Promise<void> {
  const connect = await loadClient(name);
  const open = async (): Promise<McpTestClient> => {
    for (;;) {
      try {
        const client = await within(connect({ url, fetch }));
        // The AI SDK's clients list before they call; that a listing broke is no call's failure.
        await within(client.listTools());
        return client;
      } catch (error) {
        if (isOver()) throw error;
        await sleep(20);
      }
    }
  };
  let client = await open().catch(() => undefined);
  const acknowledged = new Set<string>();
  for (let n = 0; n < calls && client && !isOver(); n++) {
    const note = `<${name} ${n}>`;
    try {
      const delayMs = random() * 60;
      if (!server.waitsInServer) await sleep(delayMs);
      const outcome = await within(client.callTool(...server.call(note, delayMs)));
      if (outcome.isError) throw new Error(outcome.text);
      tally.answered += 1;
      acknowledged.add(note);
    } catch (error) {
      if (error === hung) {
        tally.hung += 1;
        console.error(`${name}: no answer to call ${n}`);
      }
      if (error !== hung) tally.unknown += 1;
      if (isSessionError(error)) {
        tally.newSessions += 1;
        acknowledged.clear();
        client = await open().catch(() => undefined);
      }
    }
  }
  if (!client || !server.readNotes) return;
  const notes = await readNotes(server.readNotes, client, isOver);
  for (const note of acknowledged) {
    if (!notes.includes(note)) tally.lost += 1;
  }
  tally.doubled += notes.length - new Set(notes).size;
}

async function readNotes(
  read: (client: McpTestClient) => Promise<string[]>,
  client: McpTestClient,
  isOver: () => boolean,
): Promise<string[]> {
  for (;;) {
    try {
      return await within(read(client));
    } catch (error) {
      if (isOver() || isSessionError(error)) throw error;
      await sleep(20);
    }
  }
}

/** What the clients make of 400 and 404. */
function isSessionError(error: unknown): boolean {
  return /\b(400|404)\b|session/i.test(error instanceof Error ? error.message : String(error));
}

const hung = new Error("no answer");

async function within<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeOut = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(hung), hungAfterMs);
  });
  try {
    return await Promise.race([promise, timeOut]);
  } finally {
    clearTimeout(timer);
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
