import type { JsonValue } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import { isSame } from "./merge-states.ts";
import type { StoredState } from "./stored-state.ts";

type Fields = Record<string, JsonValue>;

/**
 * Makes `draft` equal to `next`, in place: an object or array that still is there stays the same object,
 * so that whoever has a reference to it goes on with the draft. Items of an array that are equal from its
 * start or to its end are still there; those between them are told by their places.
 *
 * @param draft JSON; `next` may become a part of it
 */
export function bringState(draft: object, next: StoredState): void {
  bringFields(draft as Fields, next);
}

/** @returns `old` where it could be made equal, otherwise `next` */
function bring(old: JsonValue | undefined, next: JsonValue): JsonValue {
  if (Object.isFrozen(old)) return next;
  if (Array.isArray(old) && Array.isArray(next)) bringItems(old, next);
  else if (isRecord(old) && isRecord(next)) bringFields(old, next);
  else return next;
  return old;
}

function bringFields(old: Fields, next: Readonly<Fields>): void {
  for (const key of Object.keys(old)) if (!Object.hasOwn(next, key)) delete old[key];
  for (const [key, part] of Object.entries(next)) {
    const value = bring(Object.hasOwn(old, key) ? old[key] : undefined, part);
    // An assignment to `__proto__` would be no key.
    Object.defineProperty(old, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
}

function bringItems(old: JsonValue[], next: JsonValue[]): void {
  const most = Math.min(old.length, next.length);
  let start = 0;
  while (start < most && isSame(old[start], next[start])) start++;
  let end = 0;
  while (end < most - start && isSame(old.at(-1 - end), next.at(-1 - end))) end++;
  const between = old.slice(start, old.length - end);
  const changed = next.slice(start, next.length - end);
  const brought = changed.map((item, index) => bring(between[index], item));
  old.splice(start, between.length, ...brought);
}
