import { checkedLater, checkFunction, checkOptions, checkStore } from "../base/check-option.ts";
import { owning } from "../base/json-values.ts";
import { guarded, warnOnce } from "../base/observe.ts";
import type {
  JsonValue,
  SessionStore,
  StoreBatchWrite,
  StoreConflict,
  StoredRecord,
  StoredValue,
} from "../stores/session-store.ts";
import { isStoreText, printValue, readBatch } from "../stores/store-arguments.ts";
import {
  createFingerprint,
  type Fingerprint,
  fingerprintedPrefix,
  fingerprintKey,
} from "./fingerprint.ts";
import {
  checkKeys,
  keyBytes,
  openText,
  purposeKeys,
  type SealingKey,
  type SealingKeys,
  sealText,
  type UnreadableReason,
} from "./sealed-text.ts";
import { topicsOf } from "./topics.ts";

/** Options of `encryptStore`. */
export interface EncryptStoreOptions {
  /** Seal the values. The previous key still opens. The next `put` of a value seals it anew. */
  readonly keys: SealingKeys;
  /**
   * Makes the fingerprints of principals. Never change it: with another key, no record is found again. It may be one
   * of `keys`.
   */
  readonly fingerprintKey: SealingKey;
  /**
   * Called when a value could not be opened, with the reason: `malformed`, `unknown-key`, `tampered`, or
   * `other-key` for a genuine value of another record. The value then reads as `null`.
   * @default warns once on the console
   */
  readonly onUnreadable?: ((reason: UnreadableValueReason) => void) | undefined;
}

/** Why a stored value could not be opened. `"other-key"`: it was stored under another key. */
export type UnreadableValueReason = UnreadableReason | "other-key";

/** A character has 4 bytes at most. The rest around the value is far smaller. */
const maxDecompressedLength = 5_000_000;

/**
 * A store that keeps its values sealed in another store. A reader of that store sees the agent, the agent
 * session, the connection and the name of each record, its times and its size. Of the principal, in keys
 * and owners, the reader only sees a fingerprint. Values are bound to their key.
 *
 * A value that cannot be opened reads as `null` with its revision, so it can be replaced. For sessions,
 * `null` is a record that does not parse, and means a fresh session. Values are compressed before they
 * are sealed. A value that is too long for a store even then is refused with `STATE_INVALID`.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function encryptStore(store: SessionStore, options: EncryptStoreOptions): SessionStore {
  checkStore(store, "store");
  checkOptions(options, { ...valueChecks, fingerprintKey: checkedLater });
  checkKeys(options.keys);
  keyBytes(options.fingerprintKey, "fingerprintKey");
  return createEncryptedStore(store, options, createFingerprint(options.fingerprintKey));
}

/**
 * As `encryptStore`, but keys and owners stay as they are: a reader of the store sees the principal of each record.
 * Sealed values are bound to their key all the same.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function encryptValues(
  store: SessionStore,
  options: Omit<EncryptStoreOptions, "fingerprintKey">,
): SessionStore {
  checkStore(store, "store");
  checkOptions(options, valueChecks);
  checkKeys(options.keys);
  return createEncryptedStore(store, options, undefined);
}

const valueChecks = { keys: checkedLater, onUnreadable: checkFunction };

function createEncryptedStore(
  store: SessionStore,
  options: Omit<EncryptStoreOptions, "fingerprintKey">,
  fingerprint: Fingerprint | undefined,
): SessionStore {
  const { loadKeys, open, openStored } = createOpener(options);

  const { outerKey, outerOwner, outerPrefix } = outerNames(fingerprint);
  const openConflict = async <CONFLICT extends StoreConflict>(outer: string, answer: CONFLICT) => ({
    ...answer,
    current: await openStored(outer, answer.current),
  });
  const openRecord = async (record: StoredRecord): Promise<StoredRecord> => {
    const sealed = await open(record.key, record.value);
    // An unreadable record is listed under the store's own key, so that it can be deleted.
    const { key, owner } = sealed ?? record;
    return { ...record, key, owner, value: sealed?.value ?? null };
  };
  const seal = async (key: string, owner: string, value: JsonValue) => {
    const outer = await outerKey(key);
    const [current] = await loadKeys();
    const text = JSON.stringify({ outer, key, owner, value } satisfies Sealed);
    return {
      key: outer,
      value: await sealText(text, current, true),
      owner: await outerOwner(owner),
    };
  };
  const sealWrite = async (write: StoreBatchWrite): Promise<StoreBatchWrite> => {
    if (write.type === "delete") return { ...write, key: await outerKey(write.key) };
    return { ...write, ...(await seal(write.key, write.owner, write.value)) };
  };

  return {
    async get(key) {
      const outer = await outerKey(key);
      return await openStored(outer, await store.get(outer));
    },
    ...(store.getMany && {
      async getMany(keys) {
        const outers = await Promise.all(keys.map(outerKey));
        const found = (await store.getMany!(outers)).entries();
        return await Promise.all([...found].map(([at, stored]) => openStored(outers[at]!, stored)));
      },
    }),
    async put(key, value, ifRevision, given) {
      printValue(value);
      const { key: outer, value: text, owner } = await seal(key, given?.owner, value);
      const answer = await store.put(outer, text, ifRevision, { ...given, owner });
      return answer.ok ? answer : await openConflict(outer, answer);
    },
    async touch(key, at) {
      await store.touch(await outerKey(key), at);
    },
    async delete(key, ifRevision) {
      const outer = await outerKey(key);
      const answer = await store.delete(outer, ifRevision);
      return answer.ok ? answer : await openConflict(outer, answer);
    },
    async list({ prefix, owner, ...query }) {
      const outer = outerPrefix(prefix);
      const outerOf = owner === undefined ? undefined : await outerOwner(owner);
      const page = await store.list({ ...query, prefix: outer, owner: outerOf });
      const records = await Promise.all(page.records.map(openRecord));
      // If the prefix reaches into the principal, it is compared here, because the store cannot do it.
      const isWhole = outer === prefix;
      return { ...page, records: records.filter(({ key }) => isWhole || key.startsWith(prefix!)) };
    },
    ...(store.batch && {
      async batch(writes) {
        readBatch(writes);
        const sealed = await Promise.all(writes.map(sealWrite));
        const answer = await store.batch!(sealed);
        return answer.ok ? answer : await openConflict(sealed[answer.index]!.key, answer);
      },
    }),
    ...marksOf(store),
    ...topicsOf(store, fingerprint && outerKey),
  };
}

/** The names of records in the store. A text that no store takes stays unchanged, and the store refuses it. */
function outerNames(fingerprint: Fingerprint | undefined) {
  return {
    outerKey: async (key: string) =>
      fingerprint && isStoreText(key) ? await fingerprintKey(key, fingerprint) : key,
    outerOwner: async (owner: string) =>
      fingerprint && isStoreText(owner) ? await fingerprint(owner) : owner,
    outerPrefix: (prefix: string | undefined) =>
      fingerprint && isStoreText(prefix) ? fingerprintedPrefix(prefix) : prefix,
  };
}

/** For the names in a sealed value, in bytes. */
const maxNameBytes = 8_000;

/** That it is encrypted, and how much it takes. */
function marksOf({ maxBytes }: SessionStore): Pick<SessionStore, "encrypted" | "maxBytes"> {
  // Sealed, three bytes are four characters.
  const left = maxBytes && Math.max(1, Math.floor((maxBytes * 3) / 4) - maxNameBytes);
  return { encrypted: true, ...(left && { maxBytes: left }) };
}

/** Opens values, and tells of those that it cannot open. */
function createOpener({ keys, onUnreadable }: Omit<EncryptStoreOptions, "fingerprintKey">) {
  const tellUnreadable = guarded(
    onUnreadable ??
      warnOnce(
        (reason: UnreadableValueReason) =>
          `An encrypted store has a value that it cannot open (${reason}). It counts as none, and the next save replaces it.`,
      ),
  );
  const unreadable = (reason: UnreadableValueReason) => {
    tellUnreadable(reason);
    return undefined;
  };
  // The keys and not their promise, because some runtimes forbid to await another request's I/O.
  let derived: Awaited<ReturnType<typeof purposeKeys>> | undefined;
  const loadKeys = async () => (derived ??= await purposeKeys(keys, "store value"));
  /** The sealed content; `undefined` if it cannot be opened or belongs to another key. */
  const open = async (outer: string, value: JsonValue): Promise<Sealed | undefined> => {
    const opened = await openText(value, await loadKeys(), maxDecompressedLength);
    if ("reason" in opened) return unreadable(opened.reason);
    const sealed = JSON.parse(opened.text) as Sealed;
    owning(sealed.value, opened.text);
    return sealed.outer === outer ? sealed : unreadable("other-key");
  };
  return {
    loadKeys,
    open,
    openStored: async (outer: string, stored: StoredValue | undefined) => {
      if (stored === undefined) return undefined;
      const { value, revision } = stored;
      return { value: (await open(outer, value))?.value ?? null, revision };
    },
  };
}

/** The encrypted content. */
interface Sealed {
  /** The key in the store. The value is bound to it. */
  readonly outer: string;
  readonly key: string;
  readonly owner: string;
  readonly value: JsonValue;
}
