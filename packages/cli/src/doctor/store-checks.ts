import { randomUUID } from "node:crypto";
import { sameJson } from "@durable-mcp/core/internal";
import { count } from "../output/print-values.ts";
import { type CheckResult, failed, note, ok, type Row, warning } from "../probe/checks.ts";
import { isOwnKey, type OpenedStore, reread, withStore } from "../store/open-store.ts";
import { addressVariable, type StoreOptions } from "../store/store-options.ts";

/** Checks the store of the options: that it can be used, and that the keys open what is there. */
export async function checkStore(options: StoreOptions): Promise<Row[]> {
  if (!options.store && !process.env[addressVariable])
    return [{ check: "store", ...note(`Not checked. Give --store, or set ${addressVariable}.`) }];
  const rows: Row[] = [];
  type Work = (opened: OpenedStore) => Promise<CheckResult>;
  const attempt = async (check: string, used: StoreOptions, work: Work) => {
    const result = await withStore(used, work).catch((error: Error) => failed(error.message));
    rows.push({ check, ...result });
    return result.outcome !== "failed";
  };
  // A wrong key is not the store's fault.
  const { keyEnv: _, previousKeyEnv: __, fingerprintKeyEnv: ___, ...plain } = options;
  const isOpened = await attempt("store", plain, async ({ name, store }) => {
    await store.list({ limit: 1 });
    return ok(`${name[0]!.toUpperCase()}${name.slice(1)} is there, and can be read.`);
  });
  if (!isOpened) return rows;
  const isRight = await attempt("keys", options, async (opened) => checkKeys(opened, options));
  await attempt("a write", isRight ? options : plain, checkWrite);
  return rows;
}

/** More records are not read. */
const mostRecords = 1_000;

/** Whether the records are sealed, and with these keys. */
async function checkKeys(
  opened: OpenedStore,
  { keyEnv, fingerprintKeyEnv }: StoreOptions,
): Promise<CheckResult> {
  const all = [];
  let cursor: string | undefined;
  do {
    const page = await opened.store.list({ cursor, limit: 200 });
    all.push(...page.records.filter(({ key }) => isOwnKey(key)));
    ({ cursor } = page);
  } while (cursor !== undefined && all.length < mostRecords);
  const { sealed, plain, fingerprints } = opened.listed();
  const records = `${cursor === undefined ? "" : "the first "}${count(sealed, "sealed record")}`;
  if (sealed + plain === 0) return note("It has no session yet, so there is nothing to open.");
  if (keyEnv === undefined)
    return sealed > 0
      ? warning(`It has ${records}. Give --key-env to see whether your key opens them.`)
      : note("Nothing is sealed: the database shows users and sessions. encryptStore seals them.");
  if (sealed === 0)
    return warning("Nothing is sealed: your application does not encrypt this store.");
  const unopened = all.filter((record) => opened.sealedBytes(record) !== undefined).length;
  if (unopened > 0)
    return failed(
      `${unopened} of ${records} cannot be opened. Give the key that sealed them with --key-env or --previous-key-env.`,
    );
  // It is found under its own key again, if the fingerprints are of this key.
  const [stored] = all;
  if (fingerprintKeyEnv !== undefined && stored) await reread(opened, { stored });
  const opens = `The key opens ${records}.`;
  if (plain > 0) return warning(`${opens} Records that are not sealed count as lost: ${plain}.`);
  const isUntried = fingerprints > 0 && fingerprintKeyEnv === undefined;
  return ok(opens + (isUntried ? " Its fingerprints were not tried: --fingerprint-key-env." : ""));
}

/** Writes, reads and deletes a record under a name that nobody else has. */
async function checkWrite({ store }: OpenedStore): Promise<CheckResult> {
  const key = `durable-mcp/doctor/${randomUUID()}`;
  const value = { version: 1, text: randomUUID() };
  // What cannot be deleted is gone by itself after a minute.
  await store.put(key, value, null, { owner: key, expiresAt: Date.now() + 60_000 });
  const read = await store.get(key);
  await store.delete(key);
  const left = await store.get(key);
  if (sameJson(read?.value, value) && left === undefined)
    return ok("A record was written, read and deleted again.");
  return failed("A write is not read back at once. Give the database itself, not a replica.");
}
