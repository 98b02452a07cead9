import { type ClientName, loadClient, type McpTestClient } from "../clients/index.ts";
import type { TestServer } from "../servers/server-process.ts";
import {
  hung,
  type ReplicaEnd,
  untilItWorks,
  wait,
  withinTime,
  workWithEndingReplicas,
} from "./ending-replicas.ts";
import { randomFromSeed } from "./random-from-seed.ts";

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
  /** @default "kill" */
  readonly how?: ReplicaEnd;
}

const clients: ClientName[] = [
  "@ai-sdk/mcp 2",
  "@ai-sdk/mcp 1",
  "@modelcontextprotocol/sdk 1",
  "@modelcontextprotocol/client 2",
];

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
  const isOver = () => Date.now() - startedAt > maxSeconds * 1_000;
  const share = Math.ceil(calls / clients.length);
  const tally = { answered: 0, unknown: 0, hung: 0, newSessions: 0, lost: 0, doubled: 0 };
  const { startReplica } = server;
  return await workWithEndingReplicas({ startReplica, how, random }, async (roundRobin) => {
    await Promise.all(
      clients.map((name) => makeCalls(server, name, roundRobin.url, share, random, tally, isOver)),
    );
    return { calls: share * clients.length, ...tally, ...roundRobin.counts };
  });
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
  const open = () =>
    untilItWorks(async (): Promise<McpTestClient> => {
      const client = await withinTime(connect({ url, fetch }));
      // The AI SDK's clients list before they call; that a listing broke is no call's failure.
      await withinTime(client.listTools());
      return client;
    }, isOver);
  let client = await open().catch(() => undefined);
  const acknowledged = new Set<string>();
  for (let n = 0; n < calls && client && !isOver(); n++) {
    const note = `<${name} ${n}>`;
    try {
      const delayMs = random() * 60;
      if (!server.waitsInServer) await wait(delayMs);
      const outcome = await withinTime(client.callTool(...server.call(note, delayMs)));
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
  const [read, last] = [server.readNotes, client];
  const notes = await untilItWorks(
    () => withinTime(read(last)),
    (error) => isOver() || isSessionError(error),
  );
  for (const note of acknowledged) {
    if (!notes.includes(note)) tally.lost += 1;
  }
  tally.doubled += notes.length - new Set(notes).size;
}

/** What the clients make of 400 and 404. */
function isSessionError(error: unknown): boolean {
  return /\b(400|404)\b|session/i.test(error instanceof Error ? error.message : String(error));
}
