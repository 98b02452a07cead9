import { createMemoryStore } from "@durable-mcp/core";
import { checkKnown, isRecord, type OptionKind } from "@durable-mcp/core/internal";

/** A value that an option has to refuse. */
export interface WrongValue {
  readonly value: unknown;
  /** The option that is wrong; empty for the value itself. */
  readonly field: string;
  /** What the error says of it. */
  readonly reason: string;
}

/** The parts of any kind. */
interface Parts {
  readonly options?: Readonly<Record<string, OptionKind>>;
  readonly required?: readonly string[];
  readonly isOpen?: boolean;
  readonly record?: OptionKind;
  readonly list?: OptionKind;
  readonly either?: readonly OptionKind[];
  readonly oneOf?: readonly unknown[];
}
function partsOf(kind: OptionKind): Parts {
  if (kind === "names") return { list: "text" };
  return isRecord(kind) ? (kind as Parts) : {};
}

/** One value of each type, and what a message says that allows the type. */
const types: readonly [value: unknown, allowed: RegExp][] = [
  [10n, /^$/],
  [-1.5, /JSON/],
  [null, /JSON/],
  ["", /JSON|\ba string|strings/],
  ["other", /JSON|header|string(?!\[)|\btext\b/],
  [true, /JSON|true/],
  [{}, /JSON|object/],
  [[], /JSON|list/],
  [() => undefined, /function|condition/],
];

/** What a value of a wrong type is refused with; `undefined` for a kind that refuses nothing. */
function reasonOf(kind: OptionKind): string | undefined {
  try {
    checkKnown({ it: 10n }, { it: kind });
  } catch (error) {
    return (error as Error).message.replace(/^it (.*)\.$/, "$1");
  }
  return undefined;
}

function passes(kind: OptionKind, value: unknown): boolean {
  try {
    checkKnown({ it: value }, { it: kind }, { required: ["it"] });
    return true;
  } catch {
    return false;
  }
}

const candidates = ["http://127.0.0.1/", 1_000, {}, true, [], () => undefined, createMemoryStore()];

/** A right value, with the options alone that it needs. */
function rightValue(kind: OptionKind): unknown {
  const { options, required = [], either, oneOf = [] } = partsOf(kind);
  if (either) return rightValue(either[0]!);
  if (options)
    return Object.fromEntries(required.map((name) => [name, rightValue(options[name]!)]));
  return [...oneOf, "stateful", ...candidates].find((value) => passes(kind, value));
}

/** Wrong values of the options that are left to other code. */
export const checkedElsewhere: Readonly<Record<string, unknown>> = {
  ...{ principal: "alice", connections: 5, sessionId: 5, sessions: 5 },
  // A state is data that never makes a step fail.
  state: undefined,
};

export function wrongValues(kind: OptionKind): WrongValue[] {
  const { either = [] } = partsOf(kind);
  const reason = reasonOf(kind)!;
  const isOfObject = either.some((each) => partsOf(each).options);
  const ofType = types
    .filter(([, allowed]) => !allowed.test(reason))
    // What is missing in it has a reason of its own.
    .filter(([value]) => !(isOfObject && isRecord(value)))
    .map(([value]) => ({ value, field: "", reason }));
  const numbers = [kind, ...either].flatMap((each) => outside(reasonOf(each)!));
  const containers = [kind, ...either].filter((each) => {
    const { options, record, list } = partsOf(each);
    return (options ?? record ?? list) !== undefined;
  });
  return [
    ...ofType,
    ...numbers.map((value) => ({ value, field: "", reason })),
    // An error of two says either where it is in one, or what both are.
    ...(containers.length === 1 ? within(containers[0]!) : []),
  ];
}

/** The numbers next to the bounds that a message names, and those that are no whole numbers. */
function outside(reason: string): unknown[] {
  const [, min, max] = /whole number.*? (\d+)(?: to (\d+))?$/.exec(reason) ?? [];
  if (min === undefined) return [];
  const above = max === undefined ? [] : [Number(max) + 1];
  return [Number(min) - 1, ...above, Number(min) + 0.5, Number.NaN, min];
}

/** Values with one wrong part. */
function within(kind: OptionKind): WrongValue[] {
  const { options, required = [], isOpen = false, record, list } = partsOf(kind);
  if (list) return nest("[0]", wrongValues(list), (value) => [value]);
  if (record) return nest("x", wrongValues(record), (value) => ({ x: value }));
  const right = rightValue(kind) as Record<string, unknown>;
  const fields = Object.entries(options!).flatMap(([name, inner]) => {
    const reason = reasonOf(inner);
    if (reason === undefined) {
      if (name in checkedElsewhere) return [];
      throw new Error(`Nothing checks ${name}.`);
    }
    const missing = required.includes(name) ? [{ value: undefined, field: "", reason }] : [];
    return nest(name, [...wrongValues(inner), ...missing], (value) => ({
      ...right,
      [name]: value,
    }));
  });
  if (isOpen) return fields;
  const misspelt = `${Object.keys(options!)[0] ?? ""}x`;
  return [...fields, { value: { ...right, [misspelt]: true }, field: misspelt, reason: "is not" }];
}

/** The wrong values of a part, in what it is a part of. */
function nest(
  name: string,
  wrong: readonly WrongValue[],
  wrap: (value: unknown) => unknown,
): WrongValue[] {
  return wrong.map(({ value, field, reason }) => {
    const dot = field === "" || field.startsWith("[") ? "" : ".";
    return { value: wrap(value), field: `${name}${dot}${field}`, reason };
  });
}
