import { hash } from "node:crypto";

/** A statement and the values of its `$1` and so on. */
export interface PostgresQuery {
  readonly text: string;
  readonly values: readonly PostgresValue[];
  /** It is not worth a name: its plan depends on the values, or it is sent once. @default false */
  readonly isVaried?: boolean;
}

export type PostgresValue = string | number | null | Uint8Array;

/** Collects the values of a statement: `value(x)` returns the placeholder for `x`. */
export function createPostgresValues() {
  const values: PostgresValue[] = [];
  const value = (given: PostgresValue): string => {
    values.push(given);
    // Between two placeholders PostgreSQL cannot infer a type.
    return `$${values.length}::${typeOf(given)}`;
  };
  return { values, value };
}

function typeOf(value: PostgresValue): string {
  if (typeof value === "string") return "text";
  return value instanceof Uint8Array ? "bytea" : "bigint";
}

/** Keys and owners are found by this hash, because they can be longer than an index entry. */
export function sha256(escapedText: string): Uint8Array {
  return hash("sha256", escapedText, "buffer");
}
