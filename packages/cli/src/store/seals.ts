import { variableOf } from "../credentials.ts";
import type { SessionStore, StoredRecord } from "@durable-mcp/core";
import { encryptStore, encryptValues, type SealingKeys } from "@durable-mcp/core/sealing";
import { type CommandFailure, wrongUsage } from "../output/command-failure.ts";
import type { StoreOptions } from "./store-options.ts";

/** A store whose seals are open, as far as there are keys. */
export interface Seals {
  readonly store: SessionStore;
  /** The fingerprint key, if it was given: it is the application's secret. */
  readonly fingerprintKey: string | undefined;
  /** The length of a listed value that is sealed with a key that was not given, in bytes; else `undefined`. */
  readonly sealedBytes: (record: StoredRecord) => number | undefined;
  /** Throws if the options do not fit to what was listed. */
  readonly checkKeys: () => void;
  /** Throws for a listed record that is not found under its key, because the store has a fingerprint there. */
  readonly missing: () => CommandFailure | undefined;
}

export async function openSeals(raw: SessionStore, options: StoreOptions): Promise<Seals> {
  const { keyEnv, previousKeyEnv, fingerprintKeyEnv } = options;
  const notes: Notes = { sealed: new Map(), plain: 0, fingerprints: 0 };
  const noted = noteListed(raw, notes);
  const sealedBytes: Seals["sealedBytes"] = ({ key, value }) =>
    value === null || typeof value === "string" ? notes.sealed.get(key) : undefined;
  if (keyEnv === undefined) {
    if ((previousKeyEnv ?? fingerprintKeyEnv) !== undefined)
      throw wrongUsage("--key-env is missing beside the other keys.");
    return {
      store: noted,
      fingerprintKey: undefined,
      sealedBytes,
      checkKeys: nothing,
      missing: nothing,
    };
  }
  const keys: SealingKeys = {
    current: keyOf("--key-env", keyEnv),
    ...(previousKeyEnv !== undefined && { previous: keyOf("--previous-key-env", previousKeyEnv) }),
  };
  const fingerprintKey = fingerprintKeyEnv && keyOf("--fingerprint-key-env", fingerprintKeyEnv);
  const store = fingerprintKey
    ? encryptStore(noted, { keys, fingerprintKey, onUnreadable: nothing })
    : encryptValues(noted, { keys, onUnreadable: nothing });
  return {
    ...{ store, fingerprintKey, sealedBytes },
    checkKeys() {
      if (notes.plain === 0 || notes.sealed.size > 0) return;
      throw wrongUsage("--key-env: nothing in this store is sealed. Leave the option out.");
    },
    missing: () => missingKey(notes.fingerprints > 0, fingerprintKey !== undefined),
  };
}

const nothing = () => undefined;

/** Why a record that was listed is not found; `undefined` if another process has removed it. */
function missingKey(hasFingerprints: boolean, hasKey: boolean): CommandFailure | undefined {
  const option = "--fingerprint-key-env";
  if (hasFingerprints === hasKey && !hasKey) return undefined;
  if (!hasKey)
    return wrongUsage(
      `${option} is missing: the application's fingerprintKey. Without it this store can be looked into, and nothing in it can be ended or answered.`,
    );
  return wrongUsage(
    hasFingerprints
      ? `${option}: the record is not there any more, or the application has another fingerprintKey.`
      : `${option}: this store has no fingerprints. Leave the option out.`,
  );
}

interface Notes {
  /** The lengths of values that are sealed, in bytes, by the keys that the store has for them. */
  readonly sealed: Map<string, number>;
  plain: number;
  /** How many keys have a fingerprint in the place of the principal. */
  fingerprints: number;
}

/** Takes note of what is listed. A value of ours is an object, and a sealed one is a text. */
function noteListed(store: SessionStore, notes: Notes): SessionStore {
  return {
    ...store,
    async list(query) {
      const page = await store.list(query);
      for (const { key, value } of page.records) {
        if (!key.startsWith("[")) continue;
        if (typeof value === "string") notes.sealed.set(key, Buffer.byteLength(value));
        else notes.plain += 1;
        if (/"#[\w-]{43}"\]$/.test(key)) notes.fingerprints += 1;
      }
      return page;
    },
  };
}

function keyOf(option: string, name: string): string {
  const key = variableOf(option, name);
  if (/^[\w+/-]{43}=?$/.test(key)) return key;
  throw wrongUsage(
    `${option}: the value of ${name} is no key: 32 bytes as base64, as "openssl rand -base64 32" makes them.`,
  );
}
