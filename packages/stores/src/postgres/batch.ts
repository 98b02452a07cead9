import type { StoreBatchStep, StoreWrite } from "@durable-mcp/core/store-driver";
import { escapeText } from "../base/key-text.ts";
import { createPostgresValues, type PostgresQuery, type PostgresValue, sha256 } from "./query.ts";
import type { SendToPostgres } from "./send.ts";
import { expired, live } from "./statements.ts";

/** The code of the error with which a batch undoes itself: a division by zero. */
const batchRefused = "22012";
const maxTries = 10;

/** Makes a batch. Returns the index of the first step whose condition does not hold. */
export async function makePostgresBatch(
  send: SendToPostgres,
  signal: AbortSignal | undefined,
  name: string,
  steps: readonly StoreBatchStep[],
  now: number,
  isPurge: boolean,
): Promise<number | undefined> {
  const batch = postgresBatch(name, steps, now, isPurge);
  for (let tries = 1; ; tries += 1) {
    try {
      await send(batch, signal);
      return undefined;
    } catch (error) {
      if ((error as { code?: string }).code !== batchRefused) throw error;
      const rows = await send(postgresRevisions(name, steps, now), signal);
      const conflict = firstConflict(steps, rows as StoredRevision[]);
      if (conflict !== undefined) return conflict;
      // What was in the way has gone meanwhile.
      if (tries === maxTries) throw error;
    }
  }
}

type Put = { readonly hash: Uint8Array } & StoreWrite;
type Delete = { readonly hash: Uint8Array } & Extract<StoreBatchStep, { type: "delete" }>;

/**
 * One statement for all writes of a batch. Each part says how many rows it has written. If that is not as many
 * as there are conditions, the statement divides by zero, which undoes all of it.
 *
 * @param isPurge whether it also deletes what has expired
 */
function postgresBatch(
  name: string,
  steps: readonly StoreBatchStep[],
  now: number,
  isPurge: boolean,
): PostgresQuery {
  const { value, values } = createPostgresValues();
  let placeholder: string | undefined;
  // PostgreSQL refuses a value that no part uses.
  const time = () => (placeholder ??= value(now));
  const context = { name, value, time };
  // In one order in all processes, or two batches would wait for each other.
  const sorted = steps
    .map((step) => ({ ...step, hash: sha256(escapeText(step.key)) }))
    .toSorted((a, b) => Buffer.compare(a.hash, b.hash));
  const puts = sorted.filter((step) => step.type === "put");
  const deletes = sorted.filter((step) => step.type === "delete");
  const counted = [
    ...partOf(puts.filter(isReplacement), (list) => update(context, list)),
    ...partOf(deletes.filter(isNamed), (list) => removeNamed(context, list)),
    ...partOf(
      puts.filter((step) => !isReplacement(step)),
      (list) => insert(context, list),
    ),
  ];
  const others = partOf(
    deletes.filter((step) => !isNamed(step)),
    (list) =>
      `DELETE FROM ${name} WHERE key_hash IN (${list.map(({ hash }) => value(hash)).join()})`,
  );
  if (isPurge) {
    const hashes = sorted.map(({ hash }) => value(hash));
    others.push({ count: 0, text: expired(name, time(), hashes) });
  }
  const parts = [...counted, ...others].map(({ text }, index) => `part${index} AS (${text})`);
  const isComplete = counted.map(
    ({ count }, index) => `(SELECT count(*) FROM part${index}) = ${count}`,
  );
  const text = `WITH ${parts.join(",\n")}
    SELECT 1 / (CASE WHEN ${["true", ...isComplete].join(" AND ")} THEN 1 ELSE 0 END)`;
  return { text, values };
}

function partOf<STEP>(list: readonly STEP[], text: (list: readonly STEP[]) => string) {
  return list.length === 0 ? [] : [{ count: list.length, text: text(list) }];
}

interface StoredRevision {
  readonly key: string;
  readonly revision: string;
}

/** The index of the first step whose condition does not hold; `rows` are those of `postgresRevisions`. */
function firstConflict(
  steps: readonly StoreBatchStep[],
  rows: readonly StoredRevision[],
): number | undefined {
  const revisions = new Map(rows.map(({ key, revision }) => [key, revision]));
  const index = steps.findIndex(({ key, ifRevision }) => {
    const stored = revisions.get(escapeText(key)) ?? null;
    return ifRevision !== undefined && stored !== (ifRevision && escapeText(ifRevision));
  });
  return index === -1 ? undefined : index;
}

/** Reads the revisions of the keys of a batch. */
function postgresRevisions(
  name: string,
  steps: readonly StoreBatchStep[],
  now: number,
): PostgresQuery {
  const { value, values } = createPostgresValues();
  const hashes = steps.map(({ key }) => value(sha256(escapeText(key))));
  const text = `SELECT key, revision FROM ${name}
    WHERE key_hash IN (${hashes.join()}) AND ${live(value(now))}`;
  return { text, values };
}

const isReplacement = ({ ifRevision }: Put) => ifRevision !== null;
const isNamed = ({ ifRevision }: Delete) => ifRevision !== undefined;

interface BatchContext {
  readonly name: string;
  readonly value: (given: PostgresValue) => string;
  readonly time: () => string;
}

/** Without their prefix, the columns of all records. */
const columns = "key_hash, key, value, revision, owner_hash, owner, expires_at";

function rowOf(value: BatchContext["value"], { hash, key, text, revision, ...put }: Put): string {
  const owner = escapeText(put.owner);
  return [
    ...[value(hash), value(escapeText(key)), value(text), value(revision)],
    ...[value(sha256(owner)), value(owner), value(put.expiresAt ?? null)],
  ].join();
}

function update({ name, value, time }: BatchContext, puts: readonly Put[]): string {
  const rows = puts.map((put) => `(${rowOf(value, put)}, ${value(escapeText(put.ifRevision!))})`);
  return `UPDATE ${name} AS stored SET value = given.value, revision = given.revision,
      owner_hash = given.owner_hash, owner = given.owner,
      last_used_at = greatest(stored.last_used_at, ${time()}), expires_at = given.expires_at
    FROM (VALUES ${rows.join()}) AS given (${columns}, if_revision)
    WHERE stored.key_hash = given.key_hash AND stored.revision = given.if_revision
      AND (stored.expires_at IS NULL OR stored.expires_at > ${time()}) RETURNING 1`;
}

function removeNamed({ name, value, time }: BatchContext, deletes: readonly Delete[]): string {
  const rows = deletes.map(
    ({ hash, ifRevision }) => `(${value(hash)}, ${value(escapeText(ifRevision!))})`,
  );
  return `DELETE FROM ${name} AS stored USING (VALUES ${rows.join()}) AS given (key_hash, if_revision)
    WHERE stored.key_hash = given.key_hash AND stored.revision = given.if_revision
      AND (stored.expires_at IS NULL OR stored.expires_at > ${time()}) RETURNING 1`;
}

function insert({ name, value, time }: BatchContext, puts: readonly Put[]): string {
  const rows = puts.map((put) => `(${rowOf(value, put)}, ${time()})`);
  return `INSERT INTO ${name} AS stored (${columns}, last_used_at) VALUES ${rows.join()}
    ON CONFLICT (key_hash) DO UPDATE SET value = excluded.value, revision = excluded.revision,
      owner_hash = excluded.owner_hash, owner = excluded.owner,
      last_used_at = excluded.last_used_at, expires_at = excluded.expires_at
    WHERE stored.expires_at <= ${time()} RETURNING 1`;
}
