import { checkedClock, checkFunction, checkMs, checkWhole } from "../base/check-option.ts";
import { owning } from "../base/json-values.ts";
import { guarded, warnOnce } from "../base/observe.ts";
import type { StoreDriver, StoredText } from "./driver.ts";
import type { JsonValue, SessionStore, StoredValue } from "./session-store.ts";
import {
  checkBytes,
  checkKeys,
  checkStoreText,
  readBatch,
  readListQuery,
  readPut,
} from "./store-arguments.ts";
import { attemptInStore, type StoreAttempt } from "./store-attempt.ts";

/**
 * Creates a store on a driver. It checks the arguments, prints and parses the JSON, makes the revisions,
 * limits the time, and turns the driver's errors into `STORE_FAILED`. A value that is not JSON, of
 * another program for example, reads as `null` with its revision, so it can be replaced. The store has
 * `getMany`, `batch`, `publish` and `subscribe` where the driver has them. If a database client repeats a write after
 * a lost answer, the conflict with its own revision counts as success.
 *
 * Its methods reject with `CONNECTION_INVALID` for an argument of another shape, and with `STATE_INVALID`
 * for a value that is not JSON or longer than 1,000,000 characters, or than the driver's `maxBytes`.
 *
 * @param now the clock, in milliseconds since 1970-01-01 UTC
 * @throws {McpSessionError} `CONNECTION_INVALID` for a `now`, `timeoutMs` or `onUnreadable` that is none
 */
export function createDrivenStore(driver: StoreDriver, now: () => number = Date.now): SessionStore {
  const { name, timeoutMs = 10_000, maxBytes } = driver;
  if (timeoutMs !== Infinity) checkMs(timeoutMs, "timeoutMs");
  checkFunction(driver.onUnreadable, "onUnreadable");
  const clock = checkedClock(now);
  const read = createValueReader(driver);
  const attempt = <T>(
    operation: string,
    run: (attempt: StoreAttempt, time: number) => Promise<T>,
  ): Promise<T> =>
    attemptInStore(name, operation, (each) => run(each, clock()), timeoutMs) as Promise<T>;
  /** The stored value, after a write that the store did not do. */
  const conflict = async (key: string, time: number, { signal, isRead }: StoreAttempt) => {
    isRead();
    const stored = await driver.get(key, time, signal);
    return { ok: false, current: stored && read(stored) } as const;
  };

  return {
    ...(maxBytes !== undefined && { maxBytes }),
    async get(key) {
      checkStoreText("key", key);
      return await attempt("get", async ({ signal }, time) => {
        const stored = await driver.get(key, time, signal);
        return stored && read(stored);
      });
    },
    async put(key, value, ifRevision, options) {
      const write = readPut(key, value, ifRevision, options);
      checkBytes(write.text, maxBytes);
      return await attempt("put", async (each, time) => {
        const isDone = await driver.put(write, options.at ?? time, each.signal);
        const { revision } = write;
        const answer = isDone ? undefined : await conflict(key, time, each);
        return answer && answer.current?.revision !== revision ? answer : { ok: true, revision };
      });
    },
    async touch(key, at) {
      checkStoreText("key", key);
      checkWhole(at, "at", 0);
      await attempt("touch", async ({ signal }, time) => driver.touch(key, at, time, signal));
    },
    async delete(key, ifRevision) {
      checkStoreText("key", key);
      if (ifRevision !== undefined) checkStoreText("ifRevision", ifRevision);
      return await attempt("delete", async (each, time) => {
        if (await driver.delete(key, ifRevision, time, each.signal)) return { ok: true };
        return await conflict(key, time, each);
      });
    },
    async list(query) {
      const selection = readListQuery(query);
      return await attempt("list", async ({ signal }, time) => {
        const { records, end } = await driver.list(selection, time, signal);
        const parsed = records.map((record) => {
          const { key, owner, lastUsedAt, expiresAt } = record;
          return { key, ...read(record), owner, lastUsedAt, expiresAt };
        });
        return { records: parsed, cursor: end && JSON.stringify(end) };
      });
    },
    ...(driver.getMany && {
      async getMany(keys) {
        checkKeys(keys);
        return await attempt("get", async ({ signal }, time) => {
          const found = await driver.getMany!(keys, time, signal);
          return found.map((stored) => stored && read(stored));
        });
      },
    }),
    ...drivenBatch(driver, attempt, conflict),
    ...drivenNotices(driver, attempt),
  };
}

type Attempt = <T>(
  operation: string,
  run: (attempt: StoreAttempt, time: number) => Promise<T>,
) => Promise<T>;

function drivenBatch(
  driver: StoreDriver,
  attempt: Attempt,
  conflict: (
    key: string,
    time: number,
    each: StoreAttempt,
  ) => ReturnType<SessionStore["delete"]> & Promise<{ readonly ok: false }>,
): Pick<SessionStore, "batch"> {
  if (!driver.batch) return {};
  return {
    async batch(writes) {
      const steps = readBatch(writes);
      const puts = steps.filter((step) => step.type === "put");
      for (const { text } of puts) checkBytes(text, driver.maxBytes, "writes");
      return await attempt("batch", async (each, time) => {
        const index = await driver.batch!(steps, time, each.signal);
        const revisions = steps.map((step) => (step.type === "put" ? step.revision : undefined));
        if (index === undefined) return { ok: true, revisions };
        const step = steps[index]!;
        const answer = await conflict(step.key, time, each);
        // All of it was made, or none: one put shows which.
        const own = step.type === "put" ? step : puts[0];
        const stored = own === step ? answer.current : own && (await driver.get(own.key, time));
        if (own && stored?.revision === own.revision) return { ok: true, revisions };
        return { ...answer, index };
      });
    },
  };
}

function drivenNotices(
  driver: StoreDriver,
  attempt: Attempt,
): Pick<SessionStore, "publish" | "subscribe"> {
  if (!driver.publish || !driver.subscribe) return {};
  return {
    async publish(topic) {
      checkStoreText("topic", topic);
      await attempt("publish", async ({ signal }) => driver.publish!(topic, signal));
    },
    subscribe(topic, listener) {
      checkStoreText("topic", topic);
      checkFunction(listener, "listener");
      return driver.subscribe!(topic, guarded(listener));
    },
  };
}

/**
 * A function that makes the stored value of what a driver has. Its `value` is parsed when it is first read,
 * so who knows the revision already pays nothing. Another program may have written it.
 */
function createValueReader({
  name,
  onUnreadable,
}: StoreDriver): (stored: StoredText) => StoredValue {
  const tellUnreadable = guarded(
    onUnreadable ??
      warnOnce(
        () =>
          `The ${name} store has a value that is not JSON. It counts as none, and the next save replaces it.`,
      ),
  );
  return ({ text, revision }) => {
    let parsed: JsonValue | undefined;
    return {
      get value() {
        if (parsed !== undefined) return parsed;
        try {
          parsed = owning(JSON.parse(text) as JsonValue, text);
        } catch {
          parsed = null;
          tellUnreadable();
        }
        return parsed;
      },
      revision,
    };
  };
}
