import { isRecord } from "../base/json-values.ts";
import { serverLimits } from "../base/server-limits.ts";
import type { MemoryContext } from "../session/session-context.ts";
import { saveSnapshot } from "../session/session-life.ts";
import {
  isKeepable,
  type KeptResult,
  type SessionlessSnapshot,
  type StatelessSnapshot,
  type ToolDefinition,
} from "../session/session-snapshot.ts";
import { isKeptMethod, type KeptMethod } from "../session/snapshot-shape.ts";
import { compareTools } from "../tools/compare-tools.ts";
import { type JsonRpcRequest, revisionIn } from "../wire/json-rpc.ts";

/** Names a result: the same request of the same client gets it again. */
export type ResultKey = Pick<KeptResult, "method" | "client" | "cursor">;

const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/** The `_meta` of a request. */
export function metaOf({ params }: { readonly params?: Record<string, unknown> }) {
  const meta = params?.["_meta"];
  return isRecord(meta) ? meta : {};
}

/** What in a request decides on results, beside method and cursor. */
export function clientOf(message: JsonRpcRequest): string {
  return JSON.stringify([revisionIn(message), metaOf(message)[capabilitiesKey] ?? {}]);
}

/** The key of a request whose result may be kept. A request with other parameters can have another result. */
export function keyOf(message: JsonRpcRequest, client: string): ResultKey | undefined {
  const { method, params = {} } = message;
  const { _meta: _, cursor, ...others } = params;
  if (!isKeptMethod(method) || Object.keys(others).length > 0) return undefined;
  const isNext = typeof cursor === "string" && method.endsWith("/list");
  return isNext || cursor === undefined ? { method, client, cursor } : undefined;
}

/** The results of its server that a slot keeps. They are in its snapshot, so stores and state carry them. */
export type KeptResults = ReturnType<typeof createKeptResults>;

export function createKeptResults(context: MemoryContext) {
  const { state, now, emit, toolList } = context;
  const { maxLength = 200_000 } = toolList;
  const told = new Set<KeptMethod>();
  let evictions = 0;
  /** The list before the one that comes, by client. */
  const listsBefore = new Map<string, ToolDefinition[] | undefined>();

  const all = () => memorySnapshot(context)?.kept ?? [];
  const save = (kept: readonly KeptResult[]) => saveSnapshot(state, withKept(context, kept));
  const isFresh = ({ receivedAt, until }: KeptResult) => receivedAt <= now() && now() < until;

  return {
    /** The result for a request, while it is fresh. */
    find: (key: ResultKey) => all().find((result) => hasKey(result, key) && isFresh(result)),
    /** Whether anything is fresh, for this client or for any. */
    any: (client?: string) =>
      all().some((result) => (client === undefined || result.client === client) && isFresh(result)),
    /** The tools of all fresh pages for a client. */
    tools: (client: string) =>
      all()
        .filter((result) => isPage(result, client) && isFresh(result))
        .flatMap(toolsOf),
    /**
     * Keeps a result in the place of the one before.
     *
     * @param forMs with 0 it is not kept, and the one before is gone all the same
     * @param length of its JSON, in characters
     */
    keep(entry: Omit<KeptResult, "receivedAt" | "until">, forMs: number, length: number): void {
      const { method, client, cursor, result } = entry;
      const before = all();
      const isNewList = cursor === undefined;
      if (method === "tools/list" && (isNewList || !listsBefore.has(client))) {
        listsBefore.set(client, wholeList(before, client));
      }
      // Outdated pages of a list that begins anew would never be asked for again.
      const isOver = (other: KeptResult) =>
        hasKey(other, entry) ||
        (isNewList && hasKey({ ...other, cursor }, entry) && !isFresh(other));
      const others = before.filter((other) => !isOver(other));
      const receivedAt = now();
      const until = receivedAt + Math.min(forMs, serverLimits.keptMs);
      const kept = [...others, { ...entry, receivedAt, until }];
      const next = withKept(context, kept);
      const isShort = length <= maxLength && next !== undefined && isKeepable(next);
      const isKept =
        forMs > 0 && isShort && state.snapshot?.kind !== "session" && !isCircle(others, entry);
      if (isKept) save(kept);
      else if (others.length < before.length) save(others);
      if (forMs > 0 && !isKept && !told.has(method)) {
        told.add(method);
        emit({ type: "not-kept", method });
      }
      if (method !== "tools/list" || result["nextCursor"] != null) return;
      const listBefore = listsBefore.get(client);
      const list = wholeList(all(), client);
      listsBefore.delete(client);
      const changes = listBefore && list && compareTools(listBefore, list);
      if (changes) emit({ type: "tools-changed", reason: "new-list", ...changes });
    },
    /** How often `evict` was called. What was asked for before an eviction may be outdated after it. */
    get evictions() {
      return evictions;
    },
    /** Makes results answer nobody any more. Gives whether one of them was fresh. */
    evict(isMeant: (result: KeptResult) => boolean): boolean {
      evictions += 1;
      const isEvicted = (result: KeptResult) => isMeant(result) && isFresh(result);
      if (!all().some(isEvicted)) return false;
      save(all().map((result) => (isEvicted(result) ? { ...result, until: 0 } : result)));
      return true;
    },
  };
}

/** The snapshot that can keep results. Beside a session there are none to keep. */
function memorySnapshot({ state: { snapshot } }: MemoryContext) {
  return snapshot?.kind === "session" ? undefined : snapshot;
}

function withKept(
  context: MemoryContext,
  kept: readonly KeptResult[],
): StatelessSnapshot | SessionlessSnapshot | undefined {
  const { version, kind, url, ...others } = memorySnapshot(context) ?? {
    ...({ version: 1, kind: "sessionless", url: context.url.href } as const),
  };
  const isAll = Object.keys({ ...others, kept }).length === 1;
  if (kept.length === 0 && isAll) return undefined;
  return { version, kind, url, ...others, kept } as StatelessSnapshot | SessionlessSnapshot;
}

function hasKey(result: ResultKey, { method, client, cursor }: ResultKey): boolean {
  return result.method === method && result.client === client && result.cursor === cursor;
}

/** Whether the pages that follow lead back to a page. A client would go round for ever, and nothing would stop it. */
function isCircle(
  others: readonly KeptResult[],
  page: ResultKey & Pick<KeptResult, "result">,
): boolean {
  let { nextCursor } = page.result;
  for (let turn = 0; nextCursor != null && turn <= others.length; turn += 1) {
    const cursor = nextCursor as string;
    if (cursor === page.cursor) return true;
    nextCursor = others.find((result) => hasKey(result, { ...page, cursor }))?.result["nextCursor"];
  }
  return false;
}

function isPage({ method, client }: KeptResult, of: string): boolean {
  return method === "tools/list" && client === of;
}

function toolsOf({ result: { tools } }: Pick<KeptResult, "result">): ToolDefinition[] {
  return Array.isArray(tools) ? (tools.filter(isRecord) as ToolDefinition[]) : [];
}

/** All tools of a list, if each of its pages is there. */
function wholeList(kept: readonly KeptResult[], client: string): ToolDefinition[] | undefined {
  const pages = new Set<KeptResult>();
  let cursor: unknown;
  for (;;) {
    const page = kept.find((result) => isPage(result, client) && result.cursor === cursor);
    if (page === undefined) return undefined;
    // Some servers name a cursor again at the end.
    if (pages.has(page)) break;
    pages.add(page);
    cursor = page.result["nextCursor"] ?? undefined;
    if (cursor === undefined) break;
  }
  return [...pages].flatMap(toolsOf);
}
