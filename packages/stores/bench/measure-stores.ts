// What a save and a page of `list` cost when a store holds more and more sessions, and how its
// database finds them: `npm run lab -- stores`, with the names of stores to measure only these, and with `--million` to
// fill them with more.
import { cpus } from "node:os";
import type { SessionStore } from "@durable-mcp/core";
import type { StoreSelection } from "@durable-mcp/core/store-driver";
import { type BenchedStore, openers } from "./benched-stores.ts";
import { measureCalls } from "./measure-calls.ts";

const isMillion = process.argv.includes("--million");
const sizes = [100, 10_000, isMillion ? 1_000_000 : 100_000];
const rounds = 200;
const limit = 20;
/** Records of one owner, and of one prefix. */
const groupSize = 50;
const start = Date.parse("2026-01-01");
const value = { version: 1, kind: "session", text: "x".repeat(2_000) };

let time = start;
// Session `n` is of user and chat `n / groupSize`, and was last used at `start + n`, unless it is one of
// those that are saved and touched later: the first ones stay idle.
const chatOf = (n: number) => `chat ${Math.floor(n / groupSize)}`;
const keyOf = (n: number) => JSON.stringify([chatOf(n), `session ${n}`]);
const prefixOf = (n: number) => `${JSON.stringify([chatOf(n)]).slice(0, -1)},`;
const ownerOf = (n: number) => JSON.stringify(["user", "https://idp.example", chatOf(n)]);

const named = process.argv.slice(2).filter((word) => !word.startsWith("--"));
console.log(`${cpus().length} cores, ${process.platform} ${process.arch}, Node ${process.version}`);
console.log(
  `Medians of ${rounds} calls; a value of 2,000 characters, a page of ${limit} records.\n`,
);
const rows: string[] = [];
for (const [name, open] of Object.entries(openers)) {
  if (named.length > 0 && !named.includes(name)) continue;
  if (typeof open === "string") {
    console.log(`skipped: ${name}: ${open}`);
    continue;
  }
  time = start;
  const benched = await open(() => time);
  try {
    for (const callers of [1, 16]) {
      const cost = await measureCalls(benched.store, callers);
      console.log(
        `${benched.name}, a get and a batch of a put and a delete, ${callers} at once: ${cost}`,
      );
    }
    rows.push(...(await measure(benched)));
  } finally {
    await benched.remove();
  }
}
const columns = sizes.map((size) => size.toLocaleString("en"));
console.log(
  [
    `| store | call | ms at ${columns[0]} | ratio at ${columns.slice(1).join(" | ratio at ")} |`,
    `| --- | --- | ${sizes.map(() => "--:").join(" | ")} |`,
    ...rows,
  ].join("\n"),
);

async function measure(benched: BenchedStore): Promise<string[]> {
  const { name, store } = benched;
  const times = new Map<string, number[]>();
  let filled = 0;
  for (const size of sizes) {
    await fill(benched, filled, size);
    filled = size;
    const calls = Object.entries(await callsOn(store, size));
    // The first calls of all pay for connections, caches and compilers.
    if (times.size === 0) for (const [, prepare] of calls) await medianMs(prepare);
    await benched.beginMeasuring?.();
    for (const [call, prepare] of calls) {
      times.set(call, [...(times.get(call) ?? []), await medianMs(prepare)]);
    }
    if (benched.plans) {
      const plans = await benched.plans(selections());
      if (size === sizes.at(-1) || name === "Redis") {
        console.log(`${name} at ${size.toLocaleString("en")}:\n${plans}\n`);
      }
    }
  }
  return [...times].map(([call, [first = 0, ...others]]) => {
    const ratios = others.map((ms) => (ms / first).toFixed(1));
    return `| ${name} | ${call} | ${first.toPrecision(2)} | ${ratios.join(" | ")} |`;
  });
}

async function fill(
  { store, concurrency, beginFilling, endFilling }: BenchedStore,
  from: number,
  to: number,
): Promise<void> {
  beginFilling?.();
  for (let n = from; n < to; n += concurrency) {
    time = start + n;
    await Promise.all(
      Array.from({ length: Math.min(concurrency, to - n) }, (_, index) =>
        store.put(keyOf(n + index), value, null, { owner: ownerOf(n + index) }),
      ),
    );
  }
  await endFilling?.();
}

type Prepare = () => Promise<() => Promise<unknown>>;

/** What is measured; the first function makes ready for it. */
async function callsOn(store: SessionStore, size: number): Promise<Record<string, Prepare>> {
  let turn = 0;
  // Spread over all records, and the same one never twice in a row.
  const next = () => {
    turn = (turn + 7_919) % size;
    return turn;
  };
  // The idle ones stay as they are.
  const used = () => groupSize + (next() % (size - groupSize));
  const cursor = await cursorInTheMiddle(store, size);
  return {
    get: async () => () => store.get(keyOf(next())),
    "100 gets at once": async () => () =>
      Promise.all(Array.from({ length: 100 }, () => store.get(keyOf(next())))),
    ...(store.getMany && {
      "getMany of 100": async () => () =>
        store.getMany!(Array.from({ length: 100 }, () => keyOf(next()))),
    }),
    save: async () => {
      const n = used();
      const current = await store.get(keyOf(n));
      return () => store.put(keyOf(n), value, current!.revision, { owner: ownerOf(n) });
    },
    touch: async () => () => store.touch(keyOf(used()), (time += 1)),
    "list by owner": async () => () => store.list({ owner: ownerOf(next()), limit }),
    "list by prefix": async () => () => store.list({ prefix: prefixOf(next()), limit }),
    "list by idleness": async () => () => store.list({ idleSince: start + groupSize, limit }),
    "list all, from the middle": async () => () => store.list({ limit, cursor }),
  };
}

async function cursorInTheMiddle(store: SessionStore, size: number): Promise<string | undefined> {
  let cursor: string | undefined;
  for (let seen = 0; seen < size / 2;) {
    const page = await store.list({ cursor, limit: Math.min(1_000, size / 2) });
    seen += page.records.length;
    cursor = page.cursor;
  }
  return cursor;
}

async function medianMs(prepare: Prepare): Promise<number> {
  const times: number[] = [];
  for (let round = -rounds / 4; round < rounds; round += 1) {
    const run = await prepare();
    const before = performance.now();
    await run();
    if (round >= 0) times.push(performance.now() - before);
  }
  return times.toSorted((a, b) => a - b)[rounds / 2]!;
}

/** The listings as a driver gets them, for their plans. */
function selections(): Record<string, StoreSelection> {
  const all = { prefix: "", owner: undefined, idleSince: undefined, after: undefined, limit };
  return {
    "list by owner": { ...all, owner: ownerOf(1) },
    "list by prefix": { ...all, prefix: prefixOf(1) },
    "list by idleness": { ...all, idleSince: start + groupSize },
    "list all, from the middle": { ...all, after: [start, keyOf(1)] },
  };
}
