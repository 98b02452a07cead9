/**
 * Whether two declarations of a stdio server are equal. Functions and instances of classes count as
 * equal, because a `connections` function makes them anew each time.
 */
export function sameDefinition(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== typeof b) return false;
  if (typeof a === "function") return true;
  if (typeof a !== "object" || a === null || b === null) return false;
  return isPlain(a) && isPlain(b!) ? sameEntries(a, b) : !isPlain(a) && !isPlain(b!);
}

function sameEntries(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => sameDefinition(a[name], b[name]));
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Array.isArray(value);
}
