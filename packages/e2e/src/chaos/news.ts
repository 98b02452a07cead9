/** Watches over kills: three lookers, a server that restarts, forgets, repeats itself and answers late. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { startModule } from "../processes/start-module.ts";
import { randomFromSeed } from "../replicas/random-from-seed.ts";
import type { NewsLooker } from "./news-looker-program.ts";
import { createNewsSessions, type NewsUse } from "./news-sessions.ts";

const principal = { type: "app" } as const;
const resource = "board://chaos";
const lookers = 3;
const troubledMs = 20_000;
/** A busy machine gets so much longer, until so many lookers have met trouble. */
const [moreMs, fewestKills] = [30_000, 4];

/** A server with one resource, which counts, and with sessions. */
async function startBoard(random: () => number) {
  const known = new Set<string>();
  const board = { value: 0, isTroubled: true, forget: () => known.clear() };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { id, method } = (await json(request)) as { id?: number; method?: string };
    const session = request.headers["mcp-session-id"]?.toString();
    const reply = (status: number, body?: object, headers = {}) =>
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(body && JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    if (request.method !== "POST") return reply(405);
    if (method === "initialize") {
      const own = randomUUID();
      known.add(own);
      const serverInfo = { name: "board", version: "1.0.0" };
      const capabilities = { resources: {} };
      const result = { protocolVersion: "2025-11-25", capabilities, serverInfo };
      return reply(200, { result }, { "mcp-session-id": own });
    }
    if (id === undefined) return reply(202);
    if (session === undefined) return reply(400, { error: { code: -32_000, message: "No id" } });
    if (!known.has(session))
      return reply(404, { error: { code: -32_001, message: "Session not found" } });
    if (method !== "resources/read")
      return reply(200, { error: { code: -32_601, message: "Method not found" } });
    const text = String(board.value);
    const roll = board.isTroubled ? random() : 1;
    // A late answer is an old one: whoever waits for it is given up for dead after a second.
    if (roll < 0.15) await setTimeout(200 + random() * 2_000);
    else if (roll < 0.25) return reply(503);
    else if (roll < 0.3) return void response.destroy();
    return reply(200, { result: { contents: [{ uri: resource, text }] } });
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(board, { url: `http://127.0.0.1:${port}/mcp`, close });
}

/** A chat that watches, for some seconds of trouble. @returns what came of it, and what is wrong */
async function watchThrough(kind: StoreKind, seed: number) {
  const random = randomFromSeed(seed);
  const { remove, ...place } = await startStorePlace(kind);
  const { store, close } = await openStoreAt(place);
  const board = await startBoard(random);
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
    board.isTroubled = false;
    await sessions.run("chat", { principal }, (run) =>
      run.watch("board", { resource }, { everyMs: 5_000 }),
    );
    board.isTroubled = true;
    const looking = Array.from({ length: lookers }, look);
    while (isTroubled()) {
      await setTimeout(50 + random() * 200);
      const roll = random();
      if (roll < 0.5) board.value += 1;
      else if (roll < 0.6) board.forget();
      else if (roll < 0.9) await step(random() < 0.3);
    }
    board.isTroubled = false;
    // Machines may be slow.
    while (taken.at(-1)?.value !== board.value && Date.now() < untilAt) {
      await setTimeout(200);
      await step(false);
    }
    over.abort();
    await Promise.all(looking);
    const faults = judge(taken, board.value);
    return { entries: taken.length, kills, faults };
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
  let [entries, kills] = [0, 0];
  for (let round = 0; round < rounds; round += 1) {
    const { faults, ...counts } = await watchThrough(store, seed + round);
    entries += counts.entries;
    kills += counts.kills;
    if (faults.length > 0) violations.push({ seed: seed + round, faults });
  }
  return { violations, entries, kills };
}
