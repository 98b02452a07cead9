import {
  McpSessionError,
  type SessionStore,
  type StoredRecord,
  type StoredValue,
} from "@durable-mcp/core";
import { oauthKeys } from "@durable-mcp/core/internal";
import { encryptStore, encryptValues } from "@durable-mcp/core/sealing";
import { operateStore } from "@durable-mcp/sessions/internal";
import { variableOf } from "../credentials.ts";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import { openPlace } from "./open-place.ts";
import type { StoreOptions } from "./store-options.ts";

/** A store that a command looks into. */
export type OpenedStore = Awaited<ReturnType<typeof openPlace>> &
  ReturnType<typeof openSeals> & {
    /** With its values as they are in their place, sealed or not. */
    readonly raw: SessionStore;
    readonly records: ReturnType<typeof operateStore>;
  };

/** Runs a command on the store of the options, and closes the store after it. Makes nothing that is not there. */
export async function withStore<T>(
  options: StoreOptions,
  run: (opened: OpenedStore) => Promise<T>,
): Promise<T> {
  const place = await openPlace(options);
  try {
    const seals = openSeals(place.store, options);
    return await run({ ...place, raw: place.store, ...seals, records: operateStore(seals.store) });
  } catch (error) {
    if (!McpSessionError.isInstance(error) || error.code !== "STORE_FAILED") throw error;
    throw new CommandFailure(`--store: ${error.message}`);
  } finally {
    await place.close();
  }
}

/** Reads a row's record again, as it is now; `undefined` if another process has removed it. */
export async function reread(
  { store, checkFound }: OpenedStore,
  { stored: { key } }: { readonly stored: { readonly key: string } },
): Promise<StoredValue | undefined> {
  const found = await store.get(key);
  if (found === undefined) checkFound();
  return found;
}

const onUnreadable = () => undefined;

/** Opens the seals of a store, as far as there are keys. */
function openSeals(raw: SessionStore, options: StoreOptions) {
  const { keyEnv, previousKeyEnv, fingerprintKeyEnv } = options;
  const notes: Notes = { sealed: new Map(), plain: 0, fingerprints: 0 };
  const noted = noteListed(raw, notes);
  if (keyEnv === undefined && (previousKeyEnv ?? fingerprintKeyEnv) !== undefined)
    throw wrongUsage("--key-env is missing beside the other keys.");
  const fingerprintKey = keyOf("--fingerprint-key-env", fingerprintKeyEnv);
  const current = keyOf("--key-env", keyEnv);
  const previous = keyOf("--previous-key-env", previousKeyEnv);
  const keys = current && { current, ...(previous && { previous }) };
  return {
    store: !keys
      ? noted
      : fingerprintKey
        ? encryptStore(noted, { keys, fingerprintKey, onUnreadable })
        : encryptValues(noted, { keys, onUnreadable }),
    hasKeys: keys !== undefined,
    /** The fingerprint key, if it was given: it is the application's secret. */
    fingerprintKey,
    /** The length of a listed value that is sealed with a key that was not given, in bytes; else `undefined`. */
    sealedBytes: ({ key, value }: StoredRecord) =>
      value === null || typeof value === "string" ? notes.sealed.get(key) : undefined,
    /** How many listed values are sealed, how many are not, and how many keys have a fingerprint; no sign-ins. */
    listed: () => ({ ...notes, sealed: notes.sealed.size }),
    /** Throws if the options do not fit to what was listed. */
    checkKeys: () => {
      if (keys && notes.plain > 0 && notes.sealed.size === 0)
        throw wrongUsage("--key-env: nothing in this store is sealed. Leave the option out.");
    },
    /** Throws for a listed record that is not found under its key, because the store has a fingerprint there. */
    checkFound: () => {
      if (keys) checkFingerprints(notes.fingerprints > 0, fingerprintKey !== undefined);
    },
  };
}

function checkFingerprints(hasFingerprints: boolean, hasKey: boolean): void {
  const option = "--fingerprint-key-env";
  if (hasKey) {
    throw wrongUsage(
      hasFingerprints
        ? `${option}: the record is not there any more, or the application has another fingerprintKey.`
        : `${option}: this store has no fingerprints. Leave the option out.`,
    );
  }
  if (hasFingerprints)
    throw wrongUsage(
      `${option} is missing: the application's fingerprintKey. Without it this store can be looked into, and nothing in it can be ended or answered.`,
    );
}

interface Notes {
  /** The lengths of values that are sealed, in bytes, by the keys that the store has for them. */
  readonly sealed: Map<string, number>;
  plain: number;
  /** How many keys have a fingerprint in the place of the principal. */
  fingerprints: number;
}

/** Whether a session or a waiting call has this key in a store. Sign-ins have others. */
export function isOwnKey(key: string): boolean {
  return key.startsWith("[") && !oauthKeys.has(key);
}

/** Takes note of what is listed. A value of ours is an object, and a sealed one is a text. */
function noteListed(store: SessionStore, notes: Notes): SessionStore {
  return {
    ...store,
    async list(query) {
      const page = await store.list(query);
      for (const { key, value } of page.records) {
        if (!isOwnKey(key)) continue;
        if (typeof value === "string") notes.sealed.set(key, Buffer.byteLength(value));
        else notes.plain += 1;
        if (/"#[\w-]{43}"\]$/.test(key)) notes.fingerprints += 1;
      }
      return page;
    },
  };
}

function keyOf(option: string, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const key = variableOf(option, name);
  if (/^[\w+/-]{43}=?$/.test(key)) return key;
  throw wrongUsage(
    `${option}: the value of ${name} is no key: 32 bytes as base64, as "openssl rand -base64 32" makes them.`,
  );
}
