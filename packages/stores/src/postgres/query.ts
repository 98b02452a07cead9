import { createHash } from "node:crypto";

/** A statement and the values of its `$1` and so on. */
export interface PostgresQuery {
  readonly text: string;
  readonly values: readonly PostgresValue[];
}

export type PostgresValue = string | number | null | Uint8Array;

/** Collects the values of a statement: `value(x)` gives what stands for `x` in it. */
export function createPostgresValues() {
  const values: PostgresValue[] = [];
  const value = (given: PostgresValue): string => {
    values.push(given);
    // A placeholder beside another has no type by itself.
    return `$${values.length}::${typeOf(given)}`;
  };
  return { values, value };
}

function typeOf(value: PostgresValue): string {
  if (typeof value === "string") return "text";
  return value instanceof Uint8Array ? "bytea" : "bigint";
}

/** What keys and owners are found by: they can be longer than an index has room for. */
export function sha256(escapedText: string): Uint8Array {
  return createHash("sha256").update(escapedText).digest();
}
