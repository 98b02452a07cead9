import { isTimerMs } from "./check-option.ts";
import { isRecord } from "./json-values.ts";

/**
 * The expected form of a value of JSON. Gives the path of the first wrong field, which is empty for the
 * value itself, or `undefined` if nothing is wrong. It changes nothing, reads own fields only, and looks
 * no deeper than its parts say.
 */
export interface Shape<T = unknown> {
  (value: unknown): readonly string[] | undefined;
  /** The type of what passes. Nothing is there. */
  readonly passes?: T;
}

/** The type of the values that pass a shape. */
export type Shaped<SHAPE> = SHAPE extends Shape<infer T> ? T : never;

type Fields = Readonly<Record<string, Shape>>;

/** The type of a record with these fields. */
type RecordOf<FIELDS> = {
  readonly [NAME in keyof FIELDS as NAME extends `${string}?` ? never : NAME]: Shaped<FIELDS[NAME]>;
} & {
  readonly [NAME in keyof FIELDS as NAME extends `${infer OWN}?` ? OWN : never]?:
    | Shaped<FIELDS[NAME]>
    | undefined;
};

/** A value that passes a test. */
/* @__NO_SIDE_EFFECTS__ */
export function when<T = unknown>(isRight: (value: unknown) => boolean): Shape<T> {
  return (value) => (isRight(value) ? undefined : []);
}

export const anyText = when<string>((value) => typeof value === "string");
export const anyNumber = when<number>(Number.isFinite);
export const anyWhole = when<number>(Number.isSafeInteger);
/** A time that a timer takes, in milliseconds. */
export const anyMs = when<number>(isTimerMs);
export const anyRecord = when<Readonly<Record<string, unknown>>>(isRecord);

/* @__NO_SIDE_EFFECTS__ */
export function exactly<const T extends string | number | boolean>(...expected: T[]): Shape<T> {
  return when((value) => (expected as unknown[]).includes(value));
}

/** A value that passes one of these. */
/* @__NO_SIDE_EFFECTS__ */
export function anyOf<SHAPES extends readonly Shape[]>(
  ...shapes: SHAPES
): Shape<Shaped<SHAPES[number]>> {
  return when((value) => shapes.some((shape) => shape(value) === undefined));
}

/* @__NO_SIDE_EFFECTS__ */
export function listOf<T>(item: Shape<T>): Shape<readonly T[]> {
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
/* @__NO_SIDE_EFFECTS__ */
export function recordOf<FIELDS extends Fields>(
  shapes: FIELDS,
  isOpen = false,
): Shape<RecordOf<FIELDS>> {
  const fields = new Map(
    Object.entries(shapes).map(([name, shape]) => [name.replace("?", ""), { name, shape }]),
  );
  return (value) => {
    if (!isRecord(value)) return [];
    for (const [key, { name, shape }] of fields) {
      const field = Object.hasOwn(value, key) ? value[key] : undefined;
      const wrong = field === undefined && key !== name ? undefined : shape(field);
      if (wrong) return [key, ...wrong];
    }
    return isOpen || Object.keys(value).every((key) => fields.has(key)) ? undefined : [];
  };
}

/** A record keeps fields that only later releases know. */
/* @__NO_SIDE_EFFECTS__ */
export const openRecordOf = <FIELDS extends Fields>(fields: FIELDS) => recordOf(fields, true);
