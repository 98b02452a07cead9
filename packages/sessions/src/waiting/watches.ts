/** What a step watches, and what came of it. */

import { invalid } from "@durable-mcp/core/internal";
import type { NewsType, WaitingCall } from "@durable-mcp/core/waiting";
import type { StoredNews, WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { checkOptions, optionalOptions } from "../base/check-options.ts";
import { inParallel } from "../base/in-parallel.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { loadWaiting, type StoredCalls } from "./stored-calls.ts";
import { mayWatch, type WaitingSource } from "./waiting-source.ts";

/** What is watched. */
export interface Watched {
  /** The URI of a resource. */
  readonly resource: string;
}

/** Options of `watch`. */
export interface WatchOptions {
  /** After what time the server is asked again, in milliseconds; 100 to 86400000 (a day). @default 60000 */
  readonly everyMs?: number | undefined;
}

/** What came of a watch. `data` is text of a server: nobody has checked it, and no model should obey it. */
export interface NewsEntry {
  /** Names the entry. */
  readonly id: string;
  /**
   * - `changed`: the resource is not as at the last look. What lay between two looks was not seen.
   * - `overflow`: 100 entries wait. Nobody looks until a step has taken one.
   * - `end`: no step has renewed the watch for its `maxAgeMs`.
   */
  readonly type: NewsType;
  readonly connection: string;
  /** What is watched: the URI. */
  readonly resource: string;
  /** In milliseconds since 1970-01-01 UTC. */
  readonly foundAt: number;
  /** Of `changed`: the `contents`, of a binary one only its size; `null` if there is no such resource any more. */
  readonly data?: unknown;
  /** How many characters of the texts were left out, beyond 20,000. @default none */
  readonly cut?: number | undefined;
  /** How many of the contents were left out, beyond 50. @default none */
  readonly more?: number | undefined;
}

/** The watches of a run. */
export interface RunWatches<NAME extends string = string> {
  /**
   * Watches a resource for this agent session and principal: whoever calls `due` and `check`, in any process, looks at
   * it. However many steps watch the same, there is one watch, which each of them has last for `maxAgeMs` more. It asks
   * the server once when it begins. What is found waits for a step: `waiting.news`.
   *
   * @returns the watch, as the list of waiting calls has it
   * @throws {McpSessionError} `CONNECTION_INVALID` where `waiting` does not allow it, or without a store;
   *   `STORE_FAILED`, `CONNECTION_UNAVAILABLE`; the server's error, such as that there is no such resource
   */
  watch(connection: NAME, watched: Watched, options?: WatchOptions): Promise<WaitingCall>;
  /**
   * Ends a watch, and what waits of it. Does nothing if there is none.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID`, `STORE_FAILED`
   */
  unwatch(connection: NAME, watched: Watched): Promise<void>;
}

const watchedSchema = optionalOptions({}, { resource: "text" });
const optionsSchema = optionalOptions({ everyMs: [100, 86_400_000] });
const defaultMs = 60_000;

export function createWatches({
  stored,
  find,
}: {
  readonly stored: StoredCalls | undefined;
  readonly find: (connection: string) => LiveConnection;
}): RunWatches {
  const begin = async (name: string, watched: Watched) => {
    const { pausing, definition } = find(name);
    const { resource } = checkOptions(watchedSchema, watched);
    const { source } = stored ?? {};
    const isAllowed = mayWatch(definition);
    if (isAllowed && pausing?.ask && source?.atEnd && !source.isCarried) {
      const { describeWaiting } = await loadWaiting();
      const calls = await stored!.callsOf({ connection: name });
      const { ask, url } = pausing;
      const request = { method: "resources/read", params: { uri: resource } } as const;
      const watch = { connection: name, url: new URL(url), ask, request };
      return { watch, calls, describeWaiting };
    }
    if (!("url" in definition.options))
      throw invalid(
        `connections.${name}`,
        `connections.${name} is no server over HTTP: a program in a run, which ends, cannot be watched.`,
      );
    const field = `connections.${name}.waiting.watch`;
    const fix = isAllowed
      ? "needs durable sessions: a state that the application carries has no place for what comes between steps"
      : "must be true for watch and unwatch. Each step then looks for news in the store";
    throw invalid(field, `${field} ${fix}.`);
  };
  return {
    async watch(name, watched, options = {}) {
      const { everyMs: intervalMs = defaultMs } = checkOptions(optionsSchema, options);
      const { calls, watch, describeWaiting } = await begin(name, watched);
      return describeWaiting(await calls.watch({ ...watch, intervalMs }));
    },
    async unwatch(name, watched) {
      const { calls, watch } = await begin(name, watched);
      const found = await calls.findWatch(watch);
      if (found) await stored!.withdraw(found.id);
    },
  };
}

/** The keys of what the runs of a step have, and the length of it. */
const given = new WeakMap<WaitingSource, { readonly keys: Set<string>; length: number }>();
/** What a step gets, in characters, so that a model can read it. The next step gets what is left. */
const maxLength = 100_000;

/** What watches have found, and no run of this step has yet. The step has taken it when it comes to its end. */
export async function takeNews(kept: StoredCalls): Promise<NewsEntry[]> {
  const { source, now } = kept;
  const records = await kept.records();
  const { inbox } = records;
  const known = given.get(source) ?? { keys: new Set(), length: 0 };
  given.set(source, known);
  const all = (await inbox?.list()) ?? [];
  const found = all.filter(({ key, entry }) => entry.takenAt === undefined && !known.keys.has(key));
  if (found.length === 0 || !source.atEnd) return [];
  const ids = [...new Set(found.map(({ entry }) => entry.watch))];
  const watches = new Map(await inParallel(ids, async (id) => [id, await records.read(id)]));
  const callOf = ({ entry }: StoredNews) => watches.get(entry.watch)?.call;
  // A look was perhaps under way when its watch was taken back.
  const ended = new Set(all.flatMap(({ entry: { type, since } }) => (type === "end" ? since : [])));
  const isNews = (one: StoredNews) => isOf(callOf(one), one, ended);
  await inbox!.drop(found.filter((one) => !isNews(one)));
  const news: StoredNews[] = [];
  for (const one of found.filter(isNews)) {
    const { length } = JSON.stringify(one.entry);
    if (known.length > 0 && known.length + length > maxLength) break;
    known.length += length;
    known.keys.add(one.key);
    news.push(one);
  }
  if (news.length === 0) return [];
  source.atEnd(async (isDone) => {
    if (!isDone) return;
    await inParallel(news, (one) => inbox!.take(one, now()));
    await inParallel(ids, async (id) => {
      const { length } = news.filter(({ entry }) => entry.watch === id);
      await records.noteTaken(id, length, now());
    });
  });
  return news.map((one) => describe(one, callOf(one)!));
}

/** @param ended the beginnings of watches that nobody has taken back, and that are over: they may have begun again */
function isOf(
  watch: WaitingRecord | undefined,
  { entry: { since } }: StoredNews,
  ended: ReadonlySet<string>,
): boolean {
  if (watch === undefined || watch.state === "withdrawn") return false;
  return ended.has(since) || watch.held?.type !== "watch" || watch.held.since === since;
}

function describe({ entry }: StoredNews, { connection, request }: WaitingRecord): NewsEntry {
  const { type, since, place, foundAt, data, cut, more } = entry;
  return {
    ...{ id: `${since}.${type}.${place}`, type, connection },
    ...{ resource: String(request.params["uri"]), foundAt },
    ...(data !== undefined && { data }),
    ...(cut !== undefined && { cut }),
    ...(more !== undefined && { more }),
  };
}
