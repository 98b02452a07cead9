import { McpSessionError, type SessionStore, type StoredRecord } from "../../src/index.ts";
import type { WaitingProcess, WaitingWorld } from "./waiting-world.ts";

interface Entry {
  readonly text: string;
  readonly revision: string;
  readonly owner: string;
  lastUsedAt: number;
}

/** How long a claim lasts without a sign of life, in milliseconds. */
export const claimMs = 60_000;

/** A store of all processes, with compare-and-set, that fails before and after operations. */
export function createSimulatedStore(world: WaitingWorld) {
  const { scheduler, strikes, violate, count, plan } = world;
  const entries = new Map<string, Entry>();
  const isSkewed = plan.actors.some(({ clockAheadMs }) => clockAheadMs !== 0);
  /** Whether a claim was fresh when a process looked last. */
  const freshFor = new Map<string, boolean>();
  let revisions = 0;

  const stored = (entry: Entry | undefined) =>
    entry && { value: JSON.parse(entry.text), revision: entry.revision };

  /** The ids of records that are there no more: their calls were refused. */
  const deleted = new Set<string>();
  /** The process of each claim. */
  const owners = new Map<string, string>();

  /** A claim may only be taken from a process that gives no sign of life. */
  const checkChange = (process: WaitingProcess, key: string, before: Entry | undefined) => {
    const { state, claim } = before === undefined ? {} : JSON.parse(before.text);
    if (state !== "answering" || owners.get(claim.token) === process.name) return;
    count("waiting: claim given up");
    if (freshFor.get(`${process.name} ${key}`) && !isSkewed) {
      violate("claim-kept", `${process.name} took a claim from a process that gives signs of life`);
    }
  };

  const storeOf = (process: WaitingProcess): SessionStore => {
    const begin = async (label: string) => {
      await process.turn(`store ${label}`);
      if (strikes(process, "failedStore")) throw down();
    };
    const now = () => scheduler.now() + process.clockAheadMs;
    return {
      async get(key) {
        await begin("get");
        return stored(entries.get(key));
      },
      async put(key, value, ifRevision, { owner }) {
        await begin("put");
        const current = entries.get(key);
        if ((current?.revision ?? null) !== ifRevision) {
          count("waiting: store conflict");
          return { ok: false, current: stored(current) };
        }
        const { state, claim } = value as any;
        if (state === "answering") owners.set(claim.token, process.name);
        checkChange(process, key, current);
        revisions += 1;
        const revision = String(revisions);
        const lastUsedAt = Math.max(now(), current?.lastUsedAt ?? 0);
        entries.set(key, { text: JSON.stringify(value), revision, owner, lastUsedAt });
        await process.turn(`store has put ${state}`);
        if (strikes(process, "failedWrite")) throw down();
        return { ok: true, revision };
      },
      async touch(key, at) {
        await begin("touch");
        const entry = entries.get(key);
        if (entry !== undefined) entry.lastUsedAt = Math.max(entry.lastUsedAt, at);
      },
      async delete(key) {
        await begin("delete");
        const entry = entries.get(key);
        if (entry) deleted.add(JSON.parse(entry.text).id);
        entries.delete(key);
        return { ok: true };
      },
      async list({ prefix = "", owner }) {
        await begin("list");
        const records: StoredRecord[] = [];
        for (const [key, entry] of entries) {
          if (!key.startsWith(prefix) || (owner !== undefined && entry.owner !== owner)) continue;
          const isFresh = scheduler.now() - entry.lastUsedAt <= claimMs;
          freshFor.set(`${process.name} ${key}`, isFresh);
          const { lastUsedAt } = entry;
          records.push({ key, ...stored(entry)!, owner: entry.owner, lastUsedAt });
        }
        return { records };
      },
    };
  };
  return {
    storeOf,
    deleted,
    /** The process of a record's claim. */
    claimantOf: ({ claim }: any): string | undefined => owners.get(claim?.token),
    /** The records as they are, whoever owns them. */
    records: () =>
      [...entries].flatMap(([key, { text }]) => (key.startsWith("due/") ? [] : [JSON.parse(text)])),
  };
}

function down() {
  return new McpSessionError("STORE_FAILED", "The store is down.");
}
