import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { SessionStore } from "@durable-mcp/core";
import {
  createDrivenStore,
  type StoredTextRecord,
  type StoreWrite,
} from "@durable-mcp/core/store-driver";

/**
 * A store in a folder on a local disk, for the processes of one machine with Linux or macOS. It has neither `getMany`,
 * `batch`, `publish` nor `subscribe`, and a list reads all records.
 *
 * @param folder the first write creates it, readable by your user alone
 */
export function createFolderStore(folder: string): SessionStore {
  const files = useFolder(folder);
  const readLive = (key: string, now: number) => {
    const found = files.read(nameOf(key));
    return found && isLive(found, now) ? found : undefined;
  };
  return createDrivenStore({
    name: "folder",
    get: readLive,
    put(write, now) {
      const found = files.read(nameOf(write.key));
      const revision = found && isLive(found, now) ? found.revision : null;
      return revision === write.ifRevision && files.replace(found, write, now);
    },
    touch(key, at, now) {
      const found = readLive(key, now);
      if (found && found.lastUsedAt < at) files.touch(found, at);
    },
    delete(key, ifRevision, now) {
      for (;;) {
        const found = readLive(key, now);
        if (found === undefined) return ifRevision === undefined;
        if (ifRevision !== undefined && ifRevision !== found.revision) return false;
        if (files.remove(found)) return true;
      }
    },
    list({ prefix, owner, idleSince = Infinity, after: [, last] = [0, ""], limit }, now) {
      const isWanted = (record: StoredTextRecord) =>
        record.key.startsWith(prefix) &&
        isLive(record, now) &&
        (owner === undefined || record.owner === owner) &&
        record.lastUsedAt <= idleSince;
      const records: StoredTextRecord[] = [];
      let end = last;
      for (const name of files.names()) {
        const record = name > last ? files.read(name) : undefined;
        if (record === undefined || !isWanted(record)) continue;
        if (records.length === limit) return { records, end: [0, end] };
        records.push(record);
        end = name;
      }
      return { records };
    },
  });
}

const isLive = ({ expiresAt = Infinity }: StoredTextRecord, now: number) => expiresAt > now;

/**
 * The files. Each key has a folder with one empty file, the mark, whose name is the revision. The value is in a file of
 * the same name, written before. So one rename, or one removal, of the mark compares and sets. A process that is killed
 * meanwhile leaves a value that nobody reads.
 */
function useFolder(folder: string) {
  const keys = join(folder, "keys");
  const markOf = ({ key, revision }: Place) => join(keys, nameOf(key), revision);
  const valueOf = (revision: string) => join(folder, "values", revision);

  /** Where nothing is. A folder that has its mark already takes the place. */
  const create = ({ key, revision }: Place) => {
    const made = join(folder, "new", revision);
    makeFolder(made);
    writeFileSync(join(made, revision), "");
    const isDone = isFirst(() => renameSync(made, join(keys, nameOf(key))));
    if (!isDone) rmSync(made, { recursive: true });
    return isDone;
  };
  return {
    names: () => (unlessOther(() => readdirSync(keys)) ?? []).toSorted(),
    /** Reads again when another process has replaced the value meanwhile. */
    read(name: string): StoredTextRecord | undefined {
      for (let tries = 0; tries < 1_000; tries += 1) {
        const [revision] = unlessOther(() => readdirSync(join(keys, name))) ?? [];
        if (revision === undefined) return undefined;
        const found = unlessOther(() => {
          const content = JSON.parse(readFileSync(valueOf(revision), "utf8")) as StoreWrite;
          return { ...content, lastUsedAt: Math.round(statSync(valueOf(revision)).mtimeMs) };
        });
        if (found) return found;
      }
      throw new Error("The file of a value is missing.");
    },
    replace(found: StoredTextRecord | undefined, write: StoreWrite, now: number): boolean {
      const { revision } = write;
      for (const path of [keys, join(folder, "values")]) makeFolder(path);
      writeFileSync(valueOf(revision), JSON.stringify(write), { mode: 0o600 });
      setTime(valueOf(revision), Math.max(now, found?.lastUsedAt ?? 0));
      const isDone = found
        ? isFirst(() => renameSync(markOf(found), markOf(write)))
        : create(write);
      const unused = isDone ? found?.revision : revision;
      if (unused !== undefined) rmSync(valueOf(unused), { force: true });
      return isDone;
    },
    touch: ({ revision }: Place, at: number) => unlessOther(() => setTime(valueOf(revision), at)),
    remove(found: Place): boolean {
      if (!isFirst(() => unlinkSync(markOf(found)))) return false;
      rmSync(valueOf(found.revision), { force: true });
      unlessOther(() => rmdirSync(join(keys, nameOf(found.key))));
      return true;
    },
  };
}

const nameOf = (key: string) => createHash("sha256").update(key).digest("hex");

type Place = Pick<StoredTextRecord, "key" | "revision">;

/** @returns `undefined` when another process was faster: what was there is gone, or something else is there */
function unlessOther<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "EEXIST", "ENOTEMPTY"].includes(code)) return undefined;
    throw error;
  }
}

/** Whether this process was the one that did it. */
const isFirst = (work: () => void) => unlessOther(() => [work()]) !== undefined;

const setTime = (file: string, at: number) => utimesSync(file, at / 1_000, at / 1_000);

const makeFolder = (path: string) => mkdirSync(path, { recursive: true, mode: 0o700 });
