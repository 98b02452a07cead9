/** What the watches of a chat have found, until a step has taken it: beside the waiting calls, so it ends with them. */

import { isRecord } from "../../base/json-values.ts";
import { principalParts } from "../../session/principal.ts";
import type { JsonValue, SessionStore, StoredRecord } from "../../stores/session-store.ts";
import { newsStart, waitingKeys, type WaitingOwner } from "./waiting-key.ts";

/**
 * What a watch has found.
 *
 * - `changed`: the resource has another content than before, or is gone.
 * - `overflow`: so much waits for a step that nobody looks until one has taken it.
 * - `end`: the watch is over.
 */
export type NewsType = "changed" | "overflow" | "end";

/** A part of what a watch has found. It is text of a server, which nobody has checked. */
export interface NewsBody {
  readonly type: NewsType;
  /** The contents of the resource. */
  readonly data?: JsonValue | undefined;
  /** How much of the contents was left out, in characters. @default none */
  readonly cut?: number | undefined;
  /** How many of the contents were left out. @default none */
  readonly more?: number | undefined;
  /** Where the watch is with it, as `position` of what is held. */
  readonly position?: string | undefined;
}

export interface NewsEntry extends NewsBody {
  readonly version: 1;
  readonly watch: string;
  readonly since: string;
  /** Counts the entries of the watch. */
  readonly place: number;
  readonly foundAt: number;
  /** When a step has taken it. It stays for a while, so that no slow look delivers it again. */
  readonly takenAt?: number | undefined;
}

export interface StoredNews extends Pick<StoredRecord, "key" | "revision" | "expiresAt"> {
  readonly entry: NewsEntry;
}

export type Inbox = ReturnType<typeof createInbox>;

/** The most that is listed at a time. */
const pageSize = 1_000;

export function createInbox(store: SessionStore, of: WaitingOwner) {
  const owner = JSON.stringify(principalParts(of.principal));
  const inbox = {
    /** Those of a watch, or of all, in the order in which they were found; also those that a step has taken. */
    async list(watch?: string): Promise<StoredNews[]> {
      const prefix = waitingKeys.newsOf(of.agent, of.sessionId, watch);
      const found: StoredNews[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.list({ prefix, owner, cursor, limit: pageSize });
        for (const { value, ...stored } of page.records)
          if (isEntry(value)) found.push({ ...stored, entry: value });
        ({ cursor } = page);
      } while (cursor !== undefined);
      return found.toSorted(
        ({ entry: a }, { entry: b }) => a.foundAt - b.foundAt || a.place - b.place,
      );
    },
    /** @param name of the entry in its watch @returns whether it was not there yet */
    async put(name: string, entry: NewsEntry, expiresAt: number): Promise<boolean> {
      const id = `${newsStart}${entry.watch}/${entry.since}/${name}`;
      const use = { owner, at: entry.foundAt, expiresAt };
      const put = await store.put(waitingKeys.of(of, id), entry as never, null, use);
      return put.ok;
    },
    /** A step has an entry. What names its place stays. */
    async take({ key, revision, entry, expiresAt }: StoredNews, takenAt: number): Promise<void> {
      const { data: _, ...kept } = entry;
      const use = { owner, at: takenAt, expiresAt };
      await store.put(key, { ...kept, takenAt } as never, revision, use);
    },
    async drop(entries: readonly StoredNews[]): Promise<void> {
      await Promise.all(entries.map(({ key, revision }) => store.delete(key, revision)));
    },
    /** A watch is over, and nobody wants what it has found. */
    forget: async (watch: string): Promise<void> => await inbox.drop(await inbox.list(watch)),
  };
  return inbox;
}

/** Another release may write others. */
function isEntry(value: unknown): value is NewsEntry & { readonly [key: string]: JsonValue } {
  return isRecord(value) && value["version"] === 1 && typeof value["place"] === "number";
}
