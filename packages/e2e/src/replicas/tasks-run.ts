import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  type Task,
} from "@modelcontextprotocol/sdk/types.js";
import { programArguments } from "../processes/programs.ts";
import { startServerProcess } from "../servers/server-process.ts";
import {
  hungAfterMs,
  type ReplicaEnd,
  untilItWorks,
  wait,
  workWithEndingReplicas,
} from "./ending-replicas.ts";
import { randomFromSeed } from "./random-from-seed.ts";

const script = new URL("../fixtures/tasks-server.ts", import.meta.url);

/** What became of all tasks. */
export interface TasksRun {
  readonly calls: number;
  readonly completed: number;
  /** Told that the task has failed and that its work may have been done. */
  readonly unknown: number;
  /** Calls that broke before they named their task. */
  readonly broken: number;
  /** Tasks that were over in no other way, in time. */
  readonly hung: number;
  /** Any other end. */
  readonly other: number;
  /** Results of another task, or made of another's answer. */
  readonly foreign: number;
  readonly asked: number;
  /** Questions that came again, under the same id. */
  readonly askedAgain: number;
  /** Completed tasks of whose work nothing is in the ledger. */
  readonly lost: number;
  /** Work that was begun or carried out twice. */
  readonly doubled: number;
  readonly kills: number;
  readonly seconds: number;
}

type Tally = { -readonly [KEY in keyof TasksRun]: number };

export interface TasksRunOptions {
  readonly store: string;
  readonly calls: number;
  readonly seed: number;
  /** @default "kill" */
  readonly how?: ReplicaEnd;
}

const sessions = 4;
const atOnce = 6;
/** How long a client takes to answer a question at most: twice the lease of a replica. */
const thinkingMs = 2_000;

/** Clients of SDK v1 make tasks, half of which ask, while replicas end at random. */
export async function runTasks({
  store,
  calls,
  seed,
  how = "kill",
}: TasksRunOptions): Promise<TasksRun> {
  const random = randomFromSeed(seed);
  const tally = emptyTally();
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-tasks-"));
  const ledger = join(folder, "ledger");
  writeFileSync(ledger, "");
  const startReplica = () =>
    startServerProcess({
      name: "tasks",
      args: (port) => [...programArguments(script), String(port), store, ledger],
    });
  try {
    return await workWithEndingReplicas({ startReplica, how, random }, async ({ url }) => {
      const share = Math.ceil(calls / sessions);
      const runs = Array.from({ length: sessions }, (_, session) =>
        runSession({ url, session, share, tally }),
      );
      const completed = (await Promise.all(runs)).flat();
      const written = readFileSync(ledger, "utf8").split("\n").slice(0, -1);
      // The line for a file that was kept names no file.
      const lines = written.filter((line) => line !== "Kept");
      const done = new Set(lines);
      tally.lost = completed.filter((line) => !done.has(line)).length;
      tally.doubled = lines.length - done.size;
      return tally;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface SessionRun {
  readonly url: string;
  readonly session: number;
  readonly share: number;
  readonly tally: Tally;
}

/** @returns the lines of the ledger that the completed tasks must have left */
async function runSession({ url, session, share, tally }: SessionRun): Promise<string[]> {
  const asked = new Map<string, number>();
  const client = await untilItWorks(() => connect(url, asked), deadline());
  const done: string[] = [];
  for (let first = 0; first < share; first += atOnce) {
    const names = Array.from(
      { length: Math.min(atOnce, share - first) },
      (_, index) => `${session}-${first + index}`,
    );
    const ends = await Promise.all(names.map((name) => runTask(client, name, tally)));
    done.push(...ends.flatMap((line) => line ?? []));
  }
  for (const times of asked.values()) {
    tally.asked += 1;
    tally.askedAgain += times - 1;
  }
  await client.close();
  return done;
}

/** Every third file is kept. */
const isDeleted = (name: string) => Number(name.split("-")[1]) % 3 !== 0;

async function connect(url: string, asked: Map<string, number>): Promise<Client> {
  const client = new Client(
    { name: "tasks", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler(ElicitRequestSchema, async ({ params: { message } }) => {
    asked.set(message, (asked.get(message) ?? 0) + 1);
    // In this time the replica that has asked may die, and its lease end.
    await wait(Math.random() * thinkingMs);
    const name = /^Delete (.*)\?$/.exec(message)![1]!;
    return { action: "accept" as const, content: { confirm: isDeleted(name) } };
  });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), {
      reconnectionOptions: {
        ...{ initialReconnectionDelay: 100, maxReconnectionDelay: 1_000 },
        ...{ reconnectionDelayGrowFactor: 1, maxRetries: 20 },
      },
    }),
  );
  return client;
}

const timeout = 15_000;

async function runTask(client: Client, name: string, tally: Tally): Promise<string | undefined> {
  tally.calls += 1;
  const asks = Number(name.split("-")[1]) % 2 === 0;
  const tool = asks ? "confirm_delete" : "research";
  const args = asks ? { filename: name } : { topic: name };
  const params = { name: tool, arguments: args, task: { ttl: 600_000 } };
  let task: Task;
  try {
    const made = await client.request({ method: "tools/call", params }, CreateTaskResultSchema, {
      timeout,
    });
    task = made.task;
  } catch {
    tally.broken += 1;
    return undefined;
  }
  const end = await untilOver(client, task.taskId);
  if (end === "hung" || end === "unknown") {
    tally[end] += 1;
    return undefined;
  }
  const expected = asks ? (isDeleted(name) ? `Deleted '${name}'` : "Kept") : `about ${name}`;
  if (end.text !== expected) {
    console.error(`${name}: ${end.text ?? end.status}`);
    tally[end.status === "completed" ? "foreign" : "other"] += 1;
    return undefined;
  }
  tally.completed += 1;
  return expected === "Kept" ? undefined : asks ? expected : `began ${name}`;
}

type TaskEnd = "hung" | "unknown" | { readonly status: string; readonly text?: string | undefined };

async function untilOver(client: Client, taskId: string): Promise<TaskEnd> {
  const isOver = deadline();
  const params = { taskId };
  while (!isOver()) {
    try {
      const { status, statusMessage } = await client.experimental.tasks.getTask(taskId, {
        timeout,
      });
      if (status === "failed") {
        if (statusMessage?.includes("may have been done")) return "unknown";
        return { status, text: statusMessage };
      }
      if (status === "working") {
        await wait(30);
        continue;
      }
      if (status === "cancelled") return { status };
      const { content } = await client.request(
        { method: "tasks/result", params },
        CallToolResultSchema,
        { timeout },
      );
      const [part] = content;
      return { status: "completed", text: part?.type === "text" ? part.text : undefined };
    } catch {
      // Its replica ended: how the task stands, another one says.
      await wait(50);
    }
  }
  return "hung";
}

function deadline(): () => boolean {
  const end = Date.now() + hungAfterMs + 30_000;
  return () => Date.now() > end;
}

function emptyTally(): Tally {
  return {
    ...{ calls: 0, completed: 0, unknown: 0, broken: 0, hung: 0, other: 0, foreign: 0 },
    ...{ asked: 0, askedAgain: 0, lost: 0, doubled: 0, kills: 0, seconds: 0 },
  };
}
