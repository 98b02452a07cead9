import { randomUUID } from "node:crypto";
import type { StoredRecord } from "@durable-mcp/core";
import { sameJson } from "@durable-mcp/core/internal";
import { count } from "../output/print-values.ts";
import { type CheckResult, failed, note, ok, type Row, warning } from "../probe/checks.ts";
import { isOwnKey, type OpenedStore, reread, withStore } from "../store/open-store.ts";
import { hasStore, type StoreOptions } from "../store/store-options.ts";

/** Checks the store of the options: that it can be used, and that the keys open what is there. */
export async function checkStore(options: StoreOptions): Promise<Row[]> {
  if (!hasStore(options))
    return [{ check: "store", ...note("Not checked. Give --store, or set DURABLE_MCP_STORE.") }];
  const rows: Row[] = [];
  const attempt = async (check: string, work: () => Promise<CheckResult>) => {
    const { outcome, says } = await work().catch((error: Error) => failed(error.message));
    rows.push({ check, outcome, says });
    return outcome !== "failed";
  };
  const isOpened = await attempt("store", async () => {
    return await withStore(withoutKeys(options), async ({ name, raw }) => {
      await raw.list({ limit: 1 });
      return ok(`${name[0]?.toUpperCase()}${name.slice(1)} is there, and can be read.`);
    });
  });
  if (!isOpened) return rows;
  await attempt("keys", () => withStore(options, (opened) => checkKeys(opened, options)));
  const isRight = rows.every(({ outcome }) => outcome !== "failed");
  const written = isRight ? options : withoutKeys(options);
  await attempt("a write", () => withStore(written, checkWrite));
  return rows;
}

/** Wrong keys are not the store's fault. */
function withoutKeys(options: StoreOptions): StoreOptions {
  const { keyEnv: _, previousKeyEnv: __, fingerprintKeyEnv: ___, ...plain } = options;
  return plain;
}

/** More records are not read. */
const mostRecords = 1_000;

/** Whether the records are sealed, and with these keys. */
async function checkKeys(opened: OpenedStore, options: StoreOptions): Promise<CheckResult> {
  const { records, isAll } = await listSome(opened);
  const { sealed, plain, fingerprints } = opened.listed();
  const unopened = records.filter((record) => opened.sealedBytes(record) !== undefined);
  if (sealed + plain === 0) return note("It has no session yet, so there is nothing to open.");
  if (options.keyEnv === undefined) {
    if (sealed > 0)
      return warning(
        `${count(sealed, "record")} sealed. Give --key-env to see whether your key opens them.`,
      );
    return note(
      "Nothing is sealed: who reads the database sees users and sessions. encryptStore seals them.",
    );
  }
  if (sealed === 0)
    return warning("Nothing is sealed: your application does not encrypt this store.");
  if (unopened.length > 0)
    return failed(
      `${unopened.length} of ${count(sealed, "sealed record")} cannot be opened. Give the key that sealed them with --key-env, or with --previous-key-env.`,
    );
  // It is found under its own key again, if the fingerprints are of this key.
  const [stored] = records;
  if (options.fingerprintKeyEnv !== undefined && stored) await reread(opened, { stored });
  const which = isAll ? "all" : "the first";
  const opens = `The key opens ${which} ${count(sealed, "sealed record")}.`;
  if (plain > 0)
    return warning(`${opens} ${count(plain, "record")} not sealed: they count as lost.`);
  const isMarked = fingerprints > 0 && options.fingerprintKeyEnv === undefined;
  return ok(opens + (isMarked ? " Its fingerprints were not tried: --fingerprint-key-env." : ""));
}

async function listSome({ store }: OpenedStore) {
  const records: StoredRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ cursor, limit: 200 });
    records.push(...page.records.filter(({ key }) => isOwnKey(key)));
    ({ cursor } = page);
  } while (cursor !== undefined && records.length < mostRecords);
  return { records, isAll: cursor === undefined };
}

/** If it cannot be deleted again, it is gone by itself after this time, in milliseconds. */
const goneAfterMs = 60_000;

/** Writes, reads and deletes a record under a name that nobody else has. */
async function checkWrite({ store }: OpenedStore): Promise<CheckResult> {
  const key = `durable-mcp/doctor/${randomUUID()}`;
  const value = { version: 1, text: randomUUID() };
  const expiresAt = Date.now() + goneAfterMs;
  await store.put(key, value, null, { owner: key, expiresAt });
  const read = await store.get(key);
  await store.delete(key);
  if (!sameJson(read?.value, value))
    return failed("A record that was written is not read as it was. Is this a replica?");
  if ((await store.get(key)) !== undefined)
    return failed("A record that was deleted is still read. Is this a replica?");
  return ok("A record was written, read and deleted again.");
}
