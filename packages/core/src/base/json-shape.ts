import { isRecord } from "./json-values.ts";

/**
 * The expected form of a value of JSON. Gives the path of the first wrong field, which is empty for the
 * value itself, or `undefined` if nothing is wrong. It changes nothing, reads own fields only, and looks
 * no deeper than its parts say.
 */
export type Shape = (value: unknown) => readonly string[] | undefined;

/** A value that passes a test. */
export function when(isRight: (value: unknown) => boolean): Shape {
  return (value) => (isRight(value) ? undefined : []);
}

export const anyText = when((value) => typeof value === "string");
export const anyNumber = when(Number.isFinite);
export const anyRecord = when(isRecord);

export function exactly(expected: string | number | boolean): Shape {
  return when((value) => value === expected);
}

export function listOf(item: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return [];
    for (const [index, part] of value.entries()) {
      const wrong = item(part);
      if (wrong) return [`${index}`, ...wrong];
    }
    return undefined;
  };
}

/**
 * An object with these fields. The name of an optional field ends in `?`.
 *
 * @param isOpen whether it may have other fields too @default false
 */
export function recordOf(shapes: Readonly<Record<string, Shape>>, isOpen = false): Shape {
  return (value) => {
    if (!isRecord(value)) return [];
    const others = new Set(Object.keys(value));
    for (const [name, shape] of Object.entries(shapes)) {
      const key = name.replace("?", "");
      const field = others.delete(key) ? value[key] : undefined;
      const wrong = field === undefined && key !== name ? undefined : shape(field);
      if (wrong) return [key, ...wrong];
    }
    return isOpen || others.size === 0 ? undefined : [];
  };
}
