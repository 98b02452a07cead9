// What waiting calls cost when 100,000 wait in one store: `npm run lab -- waiting`, with the name of another store to
// measure that, and with `--million` for a million. Half of them are kept by their server, and a hundredth of those are
// due.
import { cpus } from "node:os";
import { setTimeout } from "node:timers/promises";
import type { Principal, SessionStore, StoreBatchWrite } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import type { StoreSelection } from "@durable-mcp/core/store-driver";
import {
  createWaitingStore,
  openCalls,
  parseWaitingRecord,
  type WaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import { openers } from "./benched-stores.ts";

const calls = process.argv.includes("--million") ? 1_000_000 : 100_000;
const perSession = 10;
const rounds = 50;
const now = Date.parse("2026-01-01");
const weekMs = 604_800_000;
const agent = "default";
const key = new Uint8Array(32).fill(7);

const sessionOf = (n: number) => `chat ${Math.floor(n / perSession)}`;
const principalOf = (n: number): Principal => ({
  ...{ type: "user", issuer: "https://idp.example", id: sessionOf(n) },
});
const isKept = (n: number) => n % 2 === 0;
const isDue = (n: number) => n % 200 === 0;

function recordOf(n: number): WaitingRecord {
  const held = { type: "task", taskId: `task ${n}`, status: "working", intervalMs: 5_000 };
  const params = { name: "research", arguments: { topic: "x".repeat(500) } };
  const record = parseWaitingRecord({
    ...{ version: isKept(n) ? 2 : 1, kind: isKept(n) ? "task" : "input", id: `call ${n}` },
    ...{ state: "waiting", connection: "lab", url: "https://lab.example/mcp" },
    ...{ toolCallId: `call-${n}`, digest: "d", round: 0, leg: `leg ${n}`, requests: {} },
    request: { method: "tools/call", params, headers: {} },
    ...{ askedAt: now, expiresAt: now + weekMs },
    ...(isKept(n) && { held, due: `due${n}`, pollAfter: isDue(n) ? now - 1 : now + weekMs / 2 }),
  });
  if (record === undefined) throw new Error("The record does not parse.");
  return record;
}

const ownerOf = (n: number) => ({ agent, sessionId: sessionOf(n), principal: principalOf(n) });

async function medianMs(run: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let round = -5; round < rounds; round += 1) {
    const before = performance.now();
    await run();
    if (round >= 0) times.push(performance.now() - before);
  }
  return times.toSorted((a, b) => a - b)[rounds / 2]!.toPrecision(2);
}

const perBatch = 200;

/** The store, where what is put within some milliseconds is one batch. */
function inBatches(store: SessionStore): SessionStore {
  let writes: StoreBatchWrite[] = [];
  let writing: ReturnType<NonNullable<SessionStore["batch"]>> | undefined;
  const write = async () => {
    await setTimeout(5);
    const all = writes;
    [writes, writing] = [[], undefined];
    return await store.batch!(all);
  };
  return {
    ...store,
    async put(name, value, ifRevision, { owner, expiresAt, at }) {
      const place =
        writes.push({ type: "put", key: name, value, ifRevision, owner, expiresAt }) - 1;
      const answer = await (writing ??= write());
      if (!answer.ok) throw new Error("The store was not empty.");
      if (at !== undefined && at > now) await store.touch(name, at);
      return { ok: true, revision: answer.revisions[place]! };
    },
  };
}

/** The store, with a count of its operations. */
function counting(store: SessionStore) {
  const count = { operations: 0 };
  const counted = new Proxy(store, {
    get(target, name) {
      const own = Reflect.get(target, name);
      if (typeof own !== "function") return own;
      return (...args: unknown[]) => {
        count.operations += 1;
        return Reflect.apply(own, target, args);
      };
    },
  });
  return { counted, count };
}

const [name = "postgres"] = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const open = openers[name];
if (typeof open !== "function") throw new Error(`skipped: ${name}: ${open ?? "no such store"}`);
console.log(`${cpus().length} cores, ${process.platform} ${process.arch}, Node ${process.version}`);
const benched = await open(() => now);
try {
  const { counted, count } = counting(benched.store);
  const keys = { keys: { current: key }, fingerprintKey: key };
  const store = encryptStore(counted, keys);
  const filling = encryptStore(inBatches(benched.store), keys);
  benched.beginFilling?.();
  for (let n = 0; n < calls; n += perBatch) {
    await Promise.all(
      Array.from({ length: perBatch }, async (_, index) =>
        createWaitingStore(filling, ownerOf(n + index), () => now).create(recordOf(n + index)),
      ),
    );
  }
  await benched.endFilling?.();
  let turn = 0;
  const next = () => (turn = (turn + 7_919) % calls);
  const measured: Record<string, () => Promise<unknown>> = {
    "due, a page of 100": () => openCalls.dueOf(store, agent).list({ now, limit: 100 }),
    "waiting, of one chat": () => createWaitingStore(store, ownerOf(next())).list(),
    "check, the reads of one": async () => {
      const of = await openCalls.dueOf(store, agent).read(`due${next() & ~1}`);
      await createWaitingStore(store, { agent, ...of! }).read(of!.id);
    },
    "sweep, a page of 100 that nobody used": () =>
      store.list({
        prefix: `${JSON.stringify([agent]).slice(0, -1)},`,
        idleSince: now,
        limit: 100,
      }),
  };
  console.log(`${calls.toLocaleString("en")} waiting calls, ${benched.name}, ${rounds} rounds:`);
  for (const [what, run] of Object.entries(measured)) {
    count.operations = 0;
    const ms = await medianMs(run);
    console.log(`| ${what} | ${ms} ms | ${count.operations / (rounds + 5)} operations |`);
  }
  const all = { owner: undefined, after: undefined, limit: 100 };
  const selections: Record<string, StoreSelection> = {
    due: { ...all, prefix: `due/${JSON.stringify(agent)}/`, idleSince: now },
    waiting: { ...all, prefix: `["${agent}","${sessionOf(1)}","waiting/`, idleSince: undefined },
    sweep: { ...all, prefix: `["${agent}",`, idleSince: now },
  };
  console.log(await benched.plans?.(selections));
} finally {
  await benched.remove();
}
