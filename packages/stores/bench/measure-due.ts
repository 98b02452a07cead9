// What `due` of 20 calls costs beside more and more idle sessions, and whether 200 looks at once are answered:
// `npm run lab -- looks`, with the names of stores to measure only these, and with `--share` for fewer sessions.
import { cpus } from "node:os";
import { createWaitingStore, parseWaitingRecord } from "@durable-mcp/core/waiting/internal";
import { createDurableSessions } from "../../ai-sdk/src/index.ts";
import { type BenchedStore, allOpeners } from "./benched-stores.ts";

const isShare = process.argv.includes("--share");
const sizes = [1_000, isShare ? 20_000 : 1_000_000];
const dueCalls = 20;
const finished = [10, isShare ? 100 : 1_000];
const rounds = 60;
const atOnce = 200;
const now = Date.now();
const principal = { type: "user", issuer: "https://idp.example", id: "alice" } as const;
const ofCalls = (sessionId: string) => ({ agent: "default", sessionId, principal });

/** @param state of a call that its server keeps, and that is due; or of one that is over */
function callOf(n: number, state: "waiting" | "settled") {
  const held = { type: "task", taskId: `task ${n}`, status: "working", intervalMs: 5_000 };
  const params = { name: "research", arguments: { topic: "x".repeat(500) } };
  const record = parseWaitingRecord({
    ...{ version: 2, kind: "task", id: `call ${n}`, state, connection: "lab" },
    ...{ url: "https://lab.example/mcp", toolCallId: `call-${n}`, digest: "d", round: 0 },
    ...{ leg: `leg ${n}`, requests: {}, askedAt: now - 1, expiresAt: now + 1_000_000 },
    request: { method: "tools/call", params, headers: {} },
    ...(state === "waiting" && { held, due: `due${n}`, pollAfter: now - 1 }),
    ...(state === "settled" && { answer: { result: { content: [], text: "x".repeat(2_000) } } }),
  });
  if (record === undefined) throw new Error("The record does not parse.");
  return record;
}

/** The least of several medians: other work on the machine makes none smaller. */
async function medianMs(run: () => Promise<unknown>): Promise<number> {
  const medians: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = performance.now();
      await run();
      times.push(performance.now() - before);
    }
    medians.push(times.toSorted((one, other) => one - other)[rounds / 2]!);
  }
  return Math.min(...medians);
}

const cells = (ms: readonly number[]) => [
  ...ms.map((each) => each.toPrecision(2)),
  (ms[1]! / ms[0]!).toFixed(2),
];

async function measure(benched: BenchedStore): Promise<string[]> {
  const { name, store, fillIdle, endFilling, mostIdle = Infinity, itemsRead } = benched;
  const sessions = createDurableSessions({
    ...{ connections: {}, store, now: () => now, onEvent: () => undefined },
  });
  const due = async () => {
    let found = 0;
    for await (const _ of sessions.admin.due()) found += 1;
    if (found !== dueCalls) throw new Error(`${found} calls are due.`);
  };
  for (let n = 0; n < dueCalls; n += 1) {
    await createWaitingStore(store, ofCalls(`chat ${n}`), () => now).create(callOf(n, "waiting"));
  }
  if (!fillIdle) throw new Error(`${name} has no fillIdle.`);
  const dueMs: number[] = [];
  let filled = 0;
  for (const size of sizes.map((each) => Math.min(each, mostIdle))) {
    await fillIdle(filled, size);
    await endFilling?.();
    filled = size;
    const before = itemsRead?.();
    await due();
    if (before !== undefined)
      console.error(`${name}: ${itemsRead!() - before} items read beside ${size} sessions`);
    dueMs.push(await medianMs(due));
  }
  const looks = await Promise.allSettled(Array.from({ length: atOnce }, due));
  const answered = looks.filter(({ status }) => status === "fulfilled").length;
  const waitingMs: number[] = [];
  let over = 0;
  for (const count of finished) {
    const calls = createWaitingStore(store, ofCalls("full"), () => now);
    for (; over < count; over += 1) await calls.create(callOf(1_000 + over, "settled"));
    waitingMs.push(await medianMs(() => sessions.waiting("full", { principal })));
  }
  const shown = filled === sizes.at(-1) ? name : `${name}, ${filled.toLocaleString("en")}`;
  return [shown, ...cells(dueMs), `${answered} of ${atOnce}`, ...cells(waitingMs)];
}

const named = process.argv.slice(2).filter((word) => !word.startsWith("--"));
console.log(`${cpus().length} cores, ${process.platform} ${process.arch}, Node ${process.version}`);
console.log(
  `The least of five medians of ${rounds}, in milliseconds; ${dueCalls} calls are due.\n`,
);
const columns = [
  "store",
  ...sizes.map((size) => `due, ${size.toLocaleString("en")} idle sessions`),
  ...["ratio", `${atOnce} at once`],
  ...finished.map((count) => `waiting(), ${count.toLocaleString("en")} calls are over`),
  "ratio",
];
console.log(`| ${columns.join(" | ")} |\n| --- |${" --: |".repeat(columns.length - 1)}`);
for (const [name, open] of Object.entries(allOpeners)) {
  // A store of one process is not measured.
  if (name === "memory" || (named.length > 0 && !named.includes(name))) continue;
  if (typeof open === "string") console.log(`skipped: ${name}: ${open}`);
  else {
    const benched = await open(() => now);
    try {
      console.log(`| ${(await measure(benched)).join(" | ")} |`);
    } finally {
      await benched.remove();
    }
  }
}
