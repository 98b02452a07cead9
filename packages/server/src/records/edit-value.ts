import type { JsonValue, SessionStore, StorePutOptions } from "@durable-mcp/core";
import { randomName } from "../base/session-id.ts";
import { isFailure } from "./commit-rows.ts";

/** A value that names its last write: who got no answer to a write finds out whether it was done. */
export interface WrittenValue {
  readonly writer?: string | undefined;
}

export interface EditOptions<Value> {
  /** The value as it is stored, or stands for one that is not; `undefined` where there is nothing to change. */
  readonly read: (stored: unknown) => Value;
  /** Called again when another write was faster. `undefined` leaves the value as it is. */
  readonly change: (
    value: NonNullable<Value>,
    isNew: boolean,
  ) => Value | undefined | Promise<Value | undefined>;
  readonly put: (value: NonNullable<Value>) => StorePutOptions;
}

export interface EditedValue<Value> {
  readonly value: Value;
  readonly outcome: "unchanged" | "changed" | "created";
}

/**
 * Changes a value by compare-and-set. A write that failed is done again, once, unless it was done.
 * @throws {McpSessionError} `STORE_FAILED`, after which it may have been done
 */
export async function editValue<Value extends WrittenValue | undefined>(
  store: SessionStore,
  key: string,
  { read, change, put }: EditOptions<Value>,
): Promise<EditedValue<Value>> {
  const writer = randomName();
  let failed: { readonly revision: string | null; readonly error: unknown } | undefined;
  for (;;) {
    const stored = await store.get(key);
    const revision = stored?.revision ?? null;
    const value = read(stored?.value);
    if (failed && value?.writer === writer) {
      return { value, outcome: failed.revision === null ? "created" : "changed" };
    }
    // Somebody else may have written on top of it.
    if (failed && failed.revision !== revision) throw failed.error;
    const changed = value && (await change(value, revision === null));
    if (!changed) return { value, outcome: "unchanged" };
    const next = { ...changed, writer };
    try {
      const result = await store.put(key, next as unknown as JsonValue, revision, put(next));
      if (result.ok) return { value: next, outcome: revision === null ? "created" : "changed" };
    } catch (error) {
      if (failed || !isFailure(error)) throw error;
      failed = { revision, error };
    }
  }
}

/**
 * Stores a value under a random name, once more if that fails: whoever is met there is the try before.
 * @throws {McpSessionError} `STORE_FAILED`, after which it may have been done
 */
export async function putNew(
  store: SessionStore,
  key: string,
  value: unknown,
  options: StorePutOptions,
): Promise<void> {
  const put = () => store.put(key, value as JsonValue, null, options);
  await put().catch(async (error: unknown) => {
    if (!isFailure(error)) throw error;
    await put();
  });
}
