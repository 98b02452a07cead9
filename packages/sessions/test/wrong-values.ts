import * as z from "zod/mini";
import { createMemoryStore } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";

/** A value that a schema has to refuse. */
export interface WrongValue {
  readonly value: unknown;
  /** The option that is wrong; empty for the value itself. */
  readonly path: readonly string[];
  /** What the error says of it. */
  readonly reason: string;
}

type Schema = z.ZodMiniType;
type Definition = Partial<{
  shape: Readonly<Record<string, Schema>>;
  innerType: Schema;
  options: readonly Schema[];
  element: Schema;
  valueType: Schema;
  catchall: Schema;
}>;

const definitionOf = (schema: Schema) => schema.def as Definition;

/** One value of each kind, and what a message says that allows the kind. */
const kinds: readonly [value: unknown, allowed: RegExp][] = [
  [10n, /^$/],
  [-1.5, /JSON/],
  [null, /JSON/],
  ["", /JSON|a string/],
  ["other", /JSON|header|string(?!\[)|\btext\b/],
  [true, /JSON|true/],
  [{}, /JSON|object/],
  [[], /JSON|list/],
  [() => undefined, /function|condition/],
];

function isContainer(schema: Schema): boolean {
  const { shape, element, valueType } = definitionOf(schema);
  return (shape ?? element ?? valueType) !== undefined;
}

/** What a value of a wrong kind is refused with; `undefined` for a schema that refuses nothing. */
function reasonOf(schema: Schema): string | undefined {
  const issue = z.safeParse(schema, 10n).error?.issues[0];
  // As `checkOptions` says it.
  return issue?.message.startsWith("Invalid input") ? "must be an object" : issue?.message;
}

const candidates = ["http://127.0.0.1/", 1_000, {}, true, [], () => undefined, createMemoryStore()];

/** A value of a schema, with the options alone that it needs. */
function rightValue(schema: Schema): unknown {
  const { shape, options } = definitionOf(schema);
  if (options) return rightValue(options[0]!);
  if (shape) {
    const needed = Object.entries(shape).filter(([, { def }]) => def.type !== "optional");
    return Object.fromEntries(needed.map(([name, inner]) => [name, rightValue(inner)]));
  }
  const { values = [] } = schema.def as { values?: readonly unknown[] };
  return [...values, ...candidates].find((value) => z.safeParse(schema, value).success);
}

/** Wrong values of the options that the schemas leave to other code. */
export const checkedElsewhere: Readonly<Record<string, unknown>> = {
  ...{ principal: "alice", connections: 5, sessionId: 5 },
  // A state is data that never makes a step fail.
  state: undefined,
};

export function wrongValues(schema: Schema): WrongValue[] {
  const { innerType, options = [] } = definitionOf(schema);
  if (innerType) return wrongValues(innerType);
  const reason = reasonOf(schema)!;
  const isOfObject = options.some((each) => definitionOf(each).shape);
  const ofKind = kinds
    .filter(([, allowed]) => !allowed.test(reason))
    // What is missing in it has a reason of its own.
    .filter(([value]) => !(isOfObject && isRecord(value)))
    .map(([value]) => ({ value, isEmptyText: value === "" && /a text(,|$)/.test(reason) }));
  const numbers = [schema, ...options].flatMap((each) => outside(reasonOf(each)!));
  const containers = [schema, ...options].filter((each) => isContainer(each));
  return [
    ...ofKind.map(({ value, isEmptyText }) => ({
      ...{ value, path: [], reason: isEmptyText ? "must not be empty" : reason },
    })),
    ...numbers.map((value) => ({ value, path: [], reason })),
    // An error of two says either where it is in one, or what both are.
    ...(containers.length === 1 ? within(containers[0]!) : []),
  ];
}

/** The numbers next to the bounds that a message names, and those that are no whole numbers. */
function outside(reason: string): unknown[] {
  const [, min, max] = /whole number.* (\d+) to (\d+)$/.exec(reason) ?? [];
  if (min === undefined) return [];
  return [Number(min) - 1, Number(max) + 1, Number(min) + 0.5, Number.NaN, min];
}

/** Values with one wrong part. */
function within(schema: Schema): WrongValue[] {
  const { shape, element, valueType, catchall } = definitionOf(schema);
  if (element) return nest("0", wrongValues(element), (value) => [value]);
  if (valueType) return nest("x", wrongValues(valueType), (value) => ({ x: value }));
  const right = rightValue(schema) as Record<string, unknown>;
  const fields = Object.entries(shape!).flatMap(([name, inner]) => {
    const reason = reasonOf(inner);
    if (reason === undefined) {
      if (name in checkedElsewhere) return [];
      throw new Error(`Nothing checks ${name}.`);
    }
    const missing = { value: undefined, path: [], reason };
    const wrong = wrongValues(inner);
    const all = inner.def.type === "optional" ? wrong : [...wrong, missing];
    return nest(name, all, (value) => ({ ...right, [name]: value }));
  });
  const [first = ""] = Object.keys(shape!);
  const misspelt = { ...right, [`${first}x`]: true };
  const refused = { value: misspelt, path: [`${first}x`], reason: "is not" };
  return catchall?.def.type === "never" ? [...fields, refused] : fields;
}

/** The wrong values of a part, in what it is a part of. */
function nest(
  name: string,
  wrong: readonly WrongValue[],
  wrap: (value: unknown) => unknown,
): WrongValue[] {
  return wrong.map((each) => ({ ...each, value: wrap(each.value), path: [name, ...each.path] }));
}
