/** Watches over kills: three lookers, and a server that is killed, forgets, repeats itself and answers late. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { freePort } from "../processes/free-port.ts";
import { startModule } from "../processes/start-module.ts";
import { randomFromSeed } from "../replicas/random-from-seed.ts";
import { type BoardState, type NewsBoard, resource } from "./news-board-program.ts";
import type { NewsLooker } from "./news-looker-program.ts";
import { createNewsSessions, type NewsUse } from "./news-sessions.ts";

const principal = { type: "app" } as const;
const lookers = 3;
const troubledMs = 20_000;
/** A busy machine gets so much longer, until so many lookers have met trouble. */
const [moreMs, fewestKills] = [30_000, 4];

/** A server in a process of its own. After a kill another one has its port, what it had, and none of its sessions. */
async function startBoard(seed: number) {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-board-"));
  const [port, file] = [await freePort(), join(folder, "board.json")];
  const url = `http://127.0.0.1:${port}/mcp`;
  let state: BoardState = { value: 0, isTroubled: false };
  const closing = new AbortController();
  let over = new AbortController();
  let starts = 0;
  const set = (next: Partial<BoardState>) => {
    state = { ...state, ...next };
    writeFileSync(file, JSON.stringify(state));
  };
  const serve = async () => {
    const program = new URL("news-board-program.ts", import.meta.url);
    while (!closing.signal.aborted) {
      const input = { port, file, seed: seed + starts };
      const step = await startModule<NewsBoard, void>(program, { input, timeoutMs: 180_000 });
      over = new AbortController();
      starts += 1;
      const signal = AbortSignal.any([over.signal, closing.signal]);
      await step.kill({ at: signal.aborted ? Promise.resolve() : once(signal, "abort") });
    }
  };
  set({});
  const served = serve();
  const isUp = async () => await fetch(url, { method: "POST", body: "{}" }).catch(() => undefined);
  while (!(await isUp())) await setTimeout(20);
  const close = async () => {
    closing.abort();
    await served;
    rmSync(folder, { recursive: true, force: true });
  };
  const kill = () => over.abort();
  return { url, set, kill, close, value: () => state.value, starts: () => starts };
}

/** A chat that watches, for some seconds of trouble. @returns what came of it, and what is wrong */
async function watchThrough(kind: StoreKind, seed: number) {
  const random = randomFromSeed(seed);
  const { remove, ...place } = await startStorePlace(kind);
  const { store, close } = await openStoreAt(place);
  const board = await startBoard(seed);
  const use: NewsUse = { url: board.url, startedAt: Date.now() };
  const sessions = createNewsSessions(store, use);
  const troubledUntil = Date.now() + troubledMs;
  const untilAt = troubledUntil + moreMs + 40_000;
  const looker = new URL("news-looker-program.ts", import.meta.url);
  const over = new AbortController();
  const atEnd = once(over.signal, "abort");
  let kills = 0;
  const isTroubled = () => Date.now() < troubledUntil + (kills < fewestKills ? moreMs : 0);
  const look = async () => {
    while (!over.signal.aborted) {
      const options = { input: { place, use, untilAt }, timeoutMs: 60_000 };
      const step = await startModule<NewsLooker, void>(looker, options);
      if (!isTroubled()) {
        await step.kill({ at: atEnd }).catch(() => undefined);
        continue;
      }
      kills += 1;
      const points = ["before-save", "during-save", "after-save", "after-load"] as const;
      const stop = { at: points[Math.floor(random() * 4)]!, nth: 1 + Math.floor(random() * 20) };
      const trouble = async () => {
        if (random() < 0.7) return await step.kill(stop);
        await step.freeze(stop);
        await setTimeout(500 + random() * 2_000);
        step.resume();
        await setTimeout(500);
        return await step.kill();
      };
      // One that nothing led to its point has ended by itself.
      await trouble().catch(() => undefined);
    }
  };
  const taken: { readonly id: string; readonly value: number }[] = [];
  const step = async (isFailing: boolean) => {
    const run = sessions.run("chat", { principal }, async ({ waiting }) => {
      const news = await waiting.news();
      if (isFailing) throw new Error("The step fails.");
      return news.map(({ id, data }) => ({ id, value: valueIn(data) }));
    });
    taken.push(...(await run.catch(() => [])));
  };
  try {
    await sessions.run("chat", { principal }, (run) =>
      run.watch("board", { resource }, { everyMs: 5_000 }),
    );
    board.set({ isTroubled: true });
    const looking = Array.from({ length: lookers }, look);
    while (isTroubled()) {
      await setTimeout(50 + random() * 200);
      const roll = random();
      if (roll < 0.5) board.set({ value: board.value() + 1 });
      else if (roll < 0.54) board.kill();
      else if (roll < 0.9) await step(random() < 0.3);
    }
    board.set({ isTroubled: false });
    // Machines may be slow.
    while (taken.at(-1)?.value !== board.value() && Date.now() < untilAt) {
      await setTimeout(200);
      await step(false);
    }
    over.abort();
    await Promise.all(looking);
    const faults = judge(taken, board.value());
    return { entries: taken.length, kills, restarts: board.starts() - 1, faults };
  } finally {
    await board.close();
    await close?.();
    await remove();
  }
}

const valueIn = (data: unknown) => Number((data as readonly { text: string }[])[0]!.text);

function judge(taken: readonly { id: string; value: number }[], last: number): string[] {
  const values = taken.map(({ value }) => value);
  const wrong: [boolean, string][] = [
    [new Set(taken.map(({ id }) => id)).size < taken.length, "an entry came twice"],
    [values.some((value, at) => at > 0 && value <= values[at - 1]!), "a value came twice, or late"],
    [values.at(-1) !== last, `the last value, ${last}, did not come`],
  ];
  return wrong.flatMap(([is, text]) => (is ? [`${text}: ${values.join(" ")}`] : []));
}

/** Watches, each with its own seed. */
export async function runNews({
  store,
  rounds,
  seed,
}: {
  readonly store: StoreKind;
  readonly rounds: number;
  readonly seed: number;
}) {
  const violations: { readonly seed: number; readonly faults: readonly string[] }[] = [];
  let [entries, kills, restarts] = [0, 0, 0];
  for (let round = 0; round < rounds; round += 1) {
    const { faults, ...counts } = await watchThrough(store, seed + round);
    entries += counts.entries;
    kills += counts.kills;
    restarts += counts.restarts;
    if (faults.length > 0) violations.push({ seed: seed + round, faults });
  }
  return { violations, entries, kills, restarts };
}
