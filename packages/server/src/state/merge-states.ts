import type { JsonValue } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { StoredState } from "./stored-state.ts";

/** A part of a state; `undefined` where a state has none. */
type Part = JsonValue | undefined;
type Fields = Readonly<Record<string, JsonValue>>;

const conflict = Symbol("conflict");

/**
 * Puts two changes of one state together. They are at different paths if neither has changed what the
 * other has changed, nor anything above it or below it. Added, replaced and removed keys are changes; an
 * array is one value. The same change on both sides is a conflict too: two calls that count from 0 to 1
 * have counted once.
 *
 * @returns `undefined` when they conflict
 */
export function mergeStates(
  base: StoredState,
  ours: StoredState,
  theirs: StoredState,
): StoredState | undefined {
  const merged = mergeObjects(base, ours, theirs);
  return merged === conflict ? undefined : merged;
}

function mergeObjects(base: Fields, ours: Fields, theirs: Fields): Fields | typeof conflict {
  const merged: [string, JsonValue][] = [];
  // Those of `base` too: two calls that remove a key have each taken what it named.
  const keys = [theirs, ours, base].flatMap((fields) => Object.keys(fields));
  for (const key of new Set(keys)) {
    const part = mergeParts(partOf(base, key), partOf(ours, key), partOf(theirs, key));
    if (part === conflict) return conflict;
    if (part !== undefined) merged.push([key, part]);
  }
  return Object.fromEntries(merged);
}

function mergeParts(base: Part, ours: Part, theirs: Part): Part | typeof conflict {
  if (isFields(base) && isFields(ours) && isFields(theirs)) return mergeObjects(base, ours, theirs);
  if (isSame(base, ours)) return theirs;
  return isSame(base, theirs) ? ours : conflict;
}

/** Whether two values of JSON are equal; the order of keys does not matter. */
export function isSame(a: Part, b: Part): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item: JsonValue, index) => isSame(item, b[index]));
  }
  if (!isFields(a) || !isFields(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => isSame(a[key], partOf(b, key)))
  );
}

function isFields(part: Part): part is Fields {
  return isRecord(part);
}

/** `__proto__` is a key as any other, and no key is inherited. */
function partOf(fields: Fields, key: string): Part {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}
