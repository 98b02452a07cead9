import assert from "node:assert/strict";
import { McpSessionError, type McpSessionErrorCode } from "@durable-mcp/core";
import type {
  JsonValue,
  SessionStore,
  StoredRecord,
  StoredValue,
  StoreListQuery,
  StorePutOptions,
} from "@durable-mcp/core";

/** Puts a value, and expects success. Returns its revision. */
export async function put(
  store: SessionStore,
  key: string,
  value: JsonValue,
  ifRevision: string | null = null,
  options: Partial<StorePutOptions> = {},
): Promise<string> {
  const answer = await store.put(key, value, ifRevision, { owner: "an owner", ...options });
  assert.ok(answer.ok, "the put is to succeed");
  assert.equal(typeof answer.revision, "string");
  return answer.revision;
}

export async function expectStored(
  store: SessionStore,
  key: string,
  value: JsonValue,
  revision: string,
): Promise<void> {
  assert.deepEqual(await store.get(key), { value, revision });
}

export function expectConflict(
  answer: { ok: true } | { ok: false; current: StoredValue | undefined },
  current: StoredValue | undefined,
): void {
  assert.equal(answer.ok, false, "the answer is to be a conflict");
  assert.deepEqual("current" in answer && answer.current, current);
}

/** The records of all pages. `between` runs after each page but the last. */
export async function listAll(
  store: SessionStore,
  query: StoreListQuery,
  between?: (page: number) => Promise<void>,
): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  let { cursor } = query;
  for (let page = 1; ; page += 1) {
    const answer = await store.list({ ...query, cursor });
    assert.ok(answer.records.length <= query.limit, "a page is to keep to the limit");
    records.push(...answer.records);
    cursor = answer.cursor;
    if (cursor === undefined) return records;
    assert.ok(page < 10_000, "the listing is to end");
    await between?.(page);
  }
}

/** Compares keys as sets: the order of a listing is the store's own. */
export function expectKeys(records: readonly StoredRecord[], keys: Iterable<string>): void {
  assert.deepEqual(records.map(({ key }) => key).toSorted(), [...keys].toSorted());
}

/** `secrets` must not be in the message. */
export async function expectRejection(
  code: McpSessionErrorCode,
  field: string | undefined,
  run: () => Promise<unknown>,
  secrets: readonly string[] = [],
): Promise<McpSessionError> {
  const error = await run().then(
    () => assert.fail(`the call is to be rejected with ${code}`),
    (reason: unknown) => reason,
  );
  if (!McpSessionError.isInstance(error)) {
    assert.fail(`the call is to be rejected with ${code}, not with ${String(error)}`);
  }
  assert.equal(error.code, code);
  if (field !== undefined) assert.equal(error.data.field, field);
  for (const secret of secrets) {
    assert.ok(!error.message.includes(secret), "the message is to repeat nothing of the record");
  }
  return error;
}

/** Runs all operations, and expects each to fail with `STORE_FAILED`. */
export async function expectAllToFail(store: SessionStore): Promise<void> {
  const key = "secret key";
  const owner = "secret owner";
  const calls = [
    () => store.get(key),
    () => store.put(key, "secret value", null, { owner }),
    () => store.put(key, "secret value", "secret revision", { owner }),
    () => store.touch(key, Date.now()),
    () => store.delete(key),
    () => store.delete(key, "secret revision"),
    () => store.list({ owner, limit: 1 }),
    ...(store.batch ? [() => store.batch!([{ type: "delete", key }])] : []),
    ...(store.publish ? [() => store.publish!(key)] : []),
  ];
  await Promise.all(
    calls.map(async (call) => {
      const error = await expectRejection("STORE_FAILED", undefined, call, ["secret"]);
      assert.ok(error.cause !== undefined, "the error is to have a cause");
    }),
  );
}
