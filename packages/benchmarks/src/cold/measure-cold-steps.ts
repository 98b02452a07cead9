import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchOptions, BenchPart, BenchRatio } from "../report/part.ts";
import { medianRatio, verdictOf } from "../report/ratio.ts";
import { median } from "../server-load/statistics.ts";
import { type DelayedServer, startDelayedServer } from "../stores/start-delayed-server.ts";
import { contenders, createStepper } from "./contenders.ts";
import { measureManyTools } from "./measure-many-tools.ts";
import { measureStepKinds } from "./measure-step-kinds.ts";
import type { StepFigures } from "./step-process.ts";

/** The number of tools that the server lists. */
const toolCount = 10;

/** A step of ours, divided by one of `@ai-sdk/mcp` alone, at most: its time, and without a wait its processor time. */
const targets: ReadonlyMap<number, number> = new Map([
  [0, 0.95],
  [50, 0.48],
  [150, 0.36],
]);

/** Of a step that only makes a call: its processor time, divided by that of `@ai-sdk/mcp` alone, at most. */
const maxCallCpu = 0.62;

const fewestRounds = 12;
const mostRounds = 60;

type Round = Readonly<Record<(typeof contenders)[number]["name"], StepFigures>>;

interface Setting {
  readonly delayMs: number;
  readonly hasCompileCache: boolean;
}

interface Measured extends Setting {
  readonly rounds: readonly Round[];
  readonly ratios: readonly BenchRatio[];
}

/**
 * A step from the start of its process to its exit: it imports, creates, offers the tools, makes one call and saves to
 * SQLite. Beside it `@ai-sdk/mcp` alone, and with all that its own session options can carry over.
 */
export async function measureColdSteps(options: BenchOptions = {}): Promise<BenchPart> {
  const folder = await mkdtemp(join(tmpdir(), "durable-mcp-cold-"));
  const server = await startDelayedServer();
  try {
    const measured: Measured[] = [];
    for (const hasCompileCache of [false, true]) {
      for (const delayMs of targets.keys()) {
        const setting = { delayMs, hasCompileCache };
        measured.push(await measureSetting(server, folder, setting, options.rounds));
      }
    }
    const manyTools = await measureManyTools(server, folder, options.rounds);
    const part = toPart(measured, manyTools, await countModules(server, folder));
    const kinds = await measureStepKinds(server, folder, options.rounds);
    return { ...part, tables: [...part.tables, ...kinds] };
  } finally {
    server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureSetting(
  server: DelayedServer,
  folder: string,
  setting: Setting,
  wanted: number | undefined,
): Promise<Measured> {
  const { delayMs, hasCompileCache } = setting;
  const place = {
    url: server.url(delayMs, toolCount),
    folder: await mkdtemp(join(folder, "steps-")),
    hasCompileCache,
  };
  const steppers = contenders.map((one) => ({ name: one.name, step: createStepper(one, place) }));
  // The first makes the session and fills the cache, and Node adds to it in the second.
  for (const { step } of [...steppers, ...steppers]) await step();

  const rounds: Round[] = [];
  let ratios: BenchRatio[] = [];
  const isEnough = () =>
    wanted === undefined
      ? rounds.length >= mostRounds ||
        (rounds.length >= fewestRounds && ratios.every((one) => verdictOf(one) !== "open"))
      : rounds.length >= wanted;
  while (!isEnough()) {
    const round: Partial<Record<string, StepFigures>> = {};
    // Each comes first, and after each other one, equally often.
    const turn = rounds.length % steppers.length;
    const order = [...steppers.slice(turn), ...steppers.slice(0, turn)];
    for (const { name, step } of order) round[name] = await step();
    rounds.push(round as Round);
    ratios = ratiosOf(setting, rounds);
  }
  return { ...setting, rounds, ratios };
}

function ratiosOf({ delayMs, hasCompileCache }: Setting, rounds: readonly Round[]): BenchRatio[] {
  const where = `${delayMs} ms of round trip${hasCompileCache ? ", with a compile cache" : ""}`;
  const figures = (name: keyof Round, figure: "ms" | "cpuMs" | "maxRssKilobytes") =>
    rounds.map((round) => round[name][figure]);
  const beside = (name: keyof Round) => ({
    group: `time ÷ ${name}`,
    label: where,
    ...medianRatio(figures("durable", "ms"), figures(name, "ms")),
  });
  const withModel = (
    of: string,
    figure: "ms" | "cpuMs",
    atMost: Readonly<Partial<Record<number, number>>>,
  ) => ({
    group: `${of} ÷ bare, both with generateText`,
    label: where,
    ...medianRatio(
      figures("with generateText", figure),
      figures("bare, with generateText", figure),
    ),
    ...(!hasCompileCache && atMost[delayMs] && { target: { atMost: atMost[delayMs] } }),
  });
  return [
    { ...beside("bare"), target: { atMost: targets.get(delayMs)! } },
    beside("bare, no DELETE"),
    beside("own session options"),
    {
      group: "processor time ÷ bare",
      label: where,
      ...medianRatio(figures("durable", "cpuMs"), figures("bare", "cpuMs")),
      ...(delayMs === 0 && { target: { atMost: targets.get(delayMs)! } }),
    },
    {
      group: "processor time ÷ bare, of run.call alone",
      label: where,
      ...medianRatio(figures("run.call alone", "cpuMs"), figures("bare", "cpuMs")),
      ...(!hasCompileCache && { target: { atMost: maxCallCpu } }),
    },
    withModel("time", "ms", { 0: 0.85, 50: 0.47 }),
    withModel("processor time", "cpuMs", { 0: 0.78, 50: 0.72 }),
    {
      group: "memory ÷ bare",
      label: where,
      ...medianRatio(figures("durable", "maxRssKilobytes"), figures("bare", "maxRssKilobytes")),
      target: { atMost: 1 },
    },
  ];
}

async function countModules(server: DelayedServer, folder: string) {
  const place = { url: server.url(0, toolCount), folder, hasCompileCache: false };
  const counts = contenders.map(async (contender) => {
    const { modules = Number.NaN } = await createStepper(contender, place)(true);
    return {
      label: contender.name,
      value: modules,
      unit: "modules",
    };
  });
  return await Promise.all(counts);
}

function toPart(
  measured: readonly Measured[],
  manyTools: readonly BenchRatio[],
  counts: BenchPart["counts"],
): BenchPart {
  const rows = measured.flatMap(({ delayMs, hasCompileCache, rounds }) =>
    contenders.map(({ name }) => [
      delayMs,
      hasCompileCache ? "yes" : "no",
      name,
      Math.round(median(rounds.map((round) => round[name].ms))),
      Math.round(median(rounds.map((round) => round[name].cpuMs))),
      Math.round(median(rounds.map((round) => round[name].maxRssKilobytes)) / 1024),
    ]),
  );
  return {
    id: "cold",
    title: "The cold step",
    ratios: [...measured.flatMap(({ ratios }) => ratios), ...manyTools],
    counts,
    tables: [
      {
        title: "One step, from the start of its process to its exit (medians)",
        columns: [
          "round trip, ms",
          "compile cache",
          "contender",
          "time, ms",
          "processor time, ms",
          "memory, MB",
        ],
        rows,
      },
    ],
    notes: [
      `The server is the official SDK's (version 1), in a process of its own, with ${toolCount} tools and sessions; each of its answers is as late as the round trip says. It counts the calls of a session: a step that was to be resumed and was not ends the run.`,
      "“run.call alone” is a step of ours that lists no tools and makes none for `ai`, which it does not load. “bare” is @ai-sdk/mcp alone: handshake, list, call, close. “bare, no DELETE” leaves its session behind (terminateSessionOnClose: false). “own session options” carries the session id, the result of the handshake and the definitions of the tools over in a file, by hand: nothing of it recovers when the server has forgotten the session, or keeps the calls of two processes apart.",
      "All load the packages as they are published. A resumed step of ours loads neither `ai` nor `@ai-sdk/mcp` until something of them is used; a step with `generateText` loads `ai`, ours as the bare client's.",
      "A list of 300 tools is kept in the store. One of 1,000 such tools (2.16 MB) does not fit into a record: each step asks the server for it, as the bare client does. A step ends with its result saved, and the bare client's with the end of its session.",
    ],
  };
}
