export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether it is an object that has no class. */
export function isPlainRecord(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The longest JSON of a stored value, and of a snapshot, in UTF-16 units. */
export const maxValueLength = 1_000_000;
const owned = new WeakSet<object>();

/** Notes of a value of a stored text that nobody else has it: of a lawful size, it need not be copied to be checked. */
export function owning<VALUE>(value: VALUE, text: string): VALUE {
  if (isRecord(value) && text.length <= maxValueLength) owned.add(value);
  return value;
}
export const isOwned = (value: unknown) => owned.has(value as object);

/** Whether a value of JSON is so shallow that it can be printed again. */
export function isPrintable(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

/** Whether two values print as the same JSON. A value that is too deep to be printed equals nothing. */
export function sameJson(a: unknown, b: unknown): boolean {
  try {
    return a === b || JSON.stringify(a) === JSON.stringify(b);
  } catch {
    return false;
  }
}
