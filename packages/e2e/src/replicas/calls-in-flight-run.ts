import { type TestServer, startServerProcess } from "../servers/server-process.ts";
import { programArguments } from "../processes/programs.ts";
import {
  hung,
  hungAfterMs,
  type ReplicaEnd,
  untilItWorks,
  wait,
  withinTime,
  workWithEndingReplicas,
} from "./ending-replicas.ts";
import { randomFromSeed } from "./random-from-seed.ts";
import { createResumeCount } from "./resume-count.ts";
import {
  type ConnectTelling,
  type OnQuestion,
  type TellingClient,
  tellingClients,
} from "./telling-callers.ts";

const script = new URL("../fixtures/telling-server.ts", import.meta.url);

/** What became of all calls. */
export interface CallsInFlight {
  readonly calls: number;
  readonly answered: number;
  /** Told that its outcome is unknown. */
  readonly unknown: number;
  /** Told that the connection broke, before there was something to come back for. */
  readonly broken: number;
  /** Refused, because a request with its id was in flight on the same replica. */
  readonly refused: number;
  /** Any other end. */
  readonly other: number;
  readonly hung: number;
  /** Answers and messages of another call. */
  readonly foreign: number;
  /** Messages that came twice, too early or too late, and gaps between them. */
  readonly disordered: number;
  /** Answered calls that the session does not have. */
  readonly lost: number;
  readonly doubled: number;
  /** Questions that were asked, and those that a client got, or a handler asked, twice. */
  readonly asked: number;
  readonly askedTwice: number;
  /** Streams to which clients came back, and answers that they got there from the other replica. */
  readonly resumed: number;
  readonly answeredElsewhere: number;
  readonly kills: number;
  readonly seconds: number;
}

type Tally = { -readonly [KEY in keyof CallsInFlight]: number };

export interface CallsInFlightOptions {
  readonly store: string;
  /** Of all clients together. */
  readonly calls: number;
  readonly seed: number;
  /** What ends, beside connections. @default "kill" */
  readonly how?: ReplicaEnd;
  /** Whether each call asks its client before it is carried out. @default false */
  readonly asks?: boolean;
}

const atOnce = 8;

/** Clients make calls, eight at once in each session, while replicas and connections end at random. */
export async function runCallsInFlight({
  store,
  calls,
  seed,
  how = "kill",
  asks = false,
}: CallsInFlightOptions): Promise<CallsInFlight> {
  const random = randomFromSeed(seed);
  const resumes = createResumeCount();
  const tally = emptyTally();
  const share = Math.ceil(calls / Object.keys(tellingClients).length);
  const startReplica = () => startTellingServer(store, asks);
  const replicas = { startReplica, how, random, breaksAnswers: true };
  return await workWithEndingReplicas(replicas, async ({ url }) => {
    await Promise.all(
      Object.entries(tellingClients).map(([name, connect]) =>
        callInSession({
          ...{ name, share, random, tally, asks },
          connect: (onQuestion) => connect(url, insistOnAnswers(resumes.fetch), onQuestion),
        }),
      ),
    );
    const { resumed, answeredElsewhere } = resumes;
    return { ...tally, resumed, answeredElsewhere };
  });
}

/** A person whose answer did not get through sends it again. No client does so by itself. */
function insistOnAnswers(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const isAnswer = typeof init?.body === "string" && !init.body.includes('"method"');
    if (!isAnswer) return await fetch(input, init);
    return await untilItWorks(async () => {
      const response = await fetch(input, init);
      if (response.status >= 500) throw new Error(String(response.status));
      return response;
    }, deadlineFromNow());
  };
}

export function startTellingServer(store: string, asks: boolean): Promise<TestServer> {
  return startServerProcess({
    name: "telling server",
    args: (port) => [
      ...programArguments(script),
      "--port",
      String(port),
      "--store",
      store,
      ...(asks ? ["--ask"] : []),
    ],
  });
}

interface Caller {
  readonly name: string;
  readonly connect: (onQuestion: OnQuestion) => ReturnType<ConnectTelling>;
  readonly asks: boolean;
  readonly share: number;
  readonly random: () => number;
  readonly tally: Tally;
}

async function callInSession(caller: Caller): Promise<void> {
  const { name, connect, share, random, tally, asks } = caller;
  const questions: string[] = [];
  const onQuestion: OnQuestion = async (call) => {
    questions.push(call);
    await wait(random() * 400);
    return { said: call };
  };
  const clients = await untilItWorks(() => connect(onQuestion), deadlineFromNow());
  const answered = new Set<string>();
  for (let first = 0; first < share; first += atOnce) {
    const calls = Array.from({ length: Math.min(atOnce, share - first) }, (_, index) => {
      const call = `<${name} ${first + index}>`;
      const args = { call, steps: Math.ceil(random() * 8), ms: random() * 400 };
      return makeCall(clients[index % clients.length]!, args, answered, tally);
    });
    await Promise.all(calls);
  }
  const list = (tool: "asked" | "done") =>
    untilItWorks(async () => {
      return JSON.parse(textOf(await clients[0]!.call(tool, {}))) as string[];
    }, deadlineFromNow());
  const done = await list("done");
  tally.asked += questions.length;
  for (const asked of asks ? [questions, await list("asked")] : []) {
    tally.askedTwice += asked.length - new Set(asked).size;
  }
  for (const call of answered) if (!done.includes(call)) tally.lost += 1;
  tally.doubled += done.length - new Set(done).size;
}

async function makeCall(
  client: TellingClient,
  args: { readonly call: string },
  answered: Set<string>,
  tally: Tally,
): Promise<void> {
  tally.calls += 1;
  let last = 0;
  const calling = client.call("tell", args, ({ progress, message }) => {
    if (message !== args.call) tally.foreign += 1;
    else if (progress !== last + 1) tally.disordered += 1;
    last = progress;
  });
  try {
    const text = textOf(await withinTime(calling));
    if (text.startsWith(`${args.call} by `)) {
      tally.answered += 1;
      answered.add(args.call);
    } else {
      console.error(`not the answer to ${args.call}:`, text);
      tally.foreign += 1;
    }
  } catch (error) {
    if (error === hung) console.error(`no answer: ${args.call}`);
    tally[error === hung ? "hung" : kindOf(error)] += 1;
  }
}

function kindOf(error: unknown): "unknown" | "refused" | "broken" | "other" {
  const { code, data, message, cause } = error as Error & {
    code?: unknown;
    data?: { code?: unknown };
  };
  if (code === "OUTCOME_UNKNOWN" || data?.code === "OUTCOME_UNKNOWN") return "unknown";
  if (code === 409 || /\b409\b|in flight/.test(message)) return "refused";
  const causes = `${message} ${String(cause)}`;
  if (/fetch failed|terminated|socket|ECONN|SSE stream|disconnected/i.test(causes)) return "broken";
  console.error("another end of a call:", error);
  return "other";
}

function deadlineFromNow(): () => boolean {
  const deadline = Date.now() + hungAfterMs;
  return () => Date.now() > deadline;
}

function textOf(result: unknown): string {
  const { content } = result as { content?: readonly { readonly text?: string }[] };
  return content?.[0]?.text ?? "";
}

function emptyTally(): Tally {
  return {
    ...{ calls: 0, answered: 0, unknown: 0, broken: 0, refused: 0, other: 0, hung: 0 },
    ...{ foreign: 0, disordered: 0, lost: 0, doubled: 0, asked: 0, askedTwice: 0 },
    ...{ resumed: 0, answeredElsewhere: 0, kills: 0, seconds: 0 },
  };
}
