import { isRecord } from "@durable-mcp/core/internal";

/** What is wrong with a value. */
export interface Issue {
  /** Where it is wrong, from the value on. */
  readonly path: readonly string[];
  /** Completes the sentence that the field begins. */
  readonly reason: string;
  /** The name of an option that nobody knows. */
  readonly unknown?: string | undefined;
  /** What is wrong with the value as each of the kinds that it may be of. */
  readonly asEach?: readonly (readonly Issue[])[] | undefined;
}

/** The form of a value. It changes nothing, and looks at values only. */
export interface Schema {
  /** What is wrong with a value; nothing if it has the form. */
  readonly issuesOf: (value: unknown) => readonly Issue[];
  /** The names of the options that there may be under a path. */
  readonly knownAt: (path: readonly string[]) => readonly string[];
}

export type Fields = Readonly<Record<string, Schema>>;

/** A value that passes a test. */
export function custom(isRight: (value: unknown) => boolean, reason: string): Schema {
  return {
    issuesOf: (value) => (isRight(value) ? [] : [{ path: [], reason }]),
    knownAt: () => [],
  };
}

/** @param reason may be left out in a union, which has its own */
export function literal(values: readonly unknown[], reason = "is another value"): Schema {
  return custom((value) => values.includes(value), reason);
}

export function string(reason = "must be a text"): Schema {
  return custom((value) => typeof value === "string", reason);
}

/** A text that matches. Another value passes: `all` has looked at it before. */
export function pattern(expression: RegExp, reason = "has another form"): Schema {
  return custom((value) => typeof value !== "string" || expression.test(value), reason);
}

/** A rule for several options of an object, told of one of them. */
export function rule<OPTIONS>(
  field: keyof OPTIONS & string,
  isKept: (options: OPTIONS) => boolean,
  reason: string,
): Schema {
  return {
    issuesOf: (value) => (isKept(value as OPTIONS) ? [] : [{ path: [field], reason }]),
    knownAt: () => [],
  };
}

/** A value that has each of the forms. The first that it does not have is told of, alone. */
export function all(first: Schema, ...others: readonly Schema[]): Schema {
  return {
    issuesOf(value) {
      for (const schema of [first, ...others]) {
        const issues = schema.issuesOf(value);
        if (issues.length > 0) return issues;
      }
      return [];
    },
    knownAt: first.knownAt,
  };
}

export function optional(schema: Schema): Schema {
  return {
    issuesOf: (value) => (value === undefined ? [] : schema.issuesOf(value)),
    knownAt: schema.knownAt,
  };
}

/** The same fields, each of which may be left out. */
export function optionalFields(fields: Fields): Fields {
  const entries = Object.entries(fields).map(([name, schema]) => [name, optional(schema)] as const);
  return Object.fromEntries(entries);
}

/** A value that has one of the forms. */
export function union(schemas: readonly Schema[], reason: string): Schema {
  return {
    issuesOf(value) {
      const asEach = schemas.map((schema) => schema.issuesOf(value));
      return asEach.some((issues) => issues.length === 0) ? [] : [{ path: [], reason, asEach }];
    },
    knownAt: (path) => schemas.flatMap((schema) => schema.knownAt(path)),
  };
}

export function array(item: Schema, reason: string): Schema {
  return {
    issuesOf: (value) =>
      Array.isArray(value)
        ? value.flatMap((each, index) => inside(String(index), item.issuesOf(each)))
        : [{ path: [], reason }],
    knownAt: () => [],
  };
}

/** An object with any names. What has a class is none: its fields may say nothing of what it holds. */
export function record(value: Schema, key?: Schema): Schema {
  return {
    issuesOf: (given) =>
      isPlain(given)
        ? Object.entries(given).flatMap(([name, each]) => [
            ...inside(name, key?.issuesOf(name) ?? []),
            ...inside(name, value.issuesOf(each)),
          ])
        : [{ path: [], reason: mustBeObject }],
    knownAt: () => [],
  };
}

/** An object with these fields, and any others. */
export function looseObject(fields: Fields): Schema {
  return {
    issuesOf(value) {
      if (!isRecord(value)) return [{ path: [], reason: mustBeObject }];
      return Object.entries(fields).flatMap(([name, schema]) =>
        inside(name, schema.issuesOf(value[name])),
      );
    },
    knownAt([first, ...rest]) {
      if (first === undefined) return Object.keys(fields);
      return Object.hasOwn(fields, first) ? fields[first]!.knownAt(rest) : [];
    },
  };
}

/** An object with these fields alone. */
export function strictObject(fields: Fields): Schema {
  const known = looseObject(fields);
  return {
    issuesOf(value) {
      const others = isRecord(value)
        ? Object.keys(value).filter((name) => !Object.hasOwn(fields, name))
        : [];
      const unknown = others.map((name) => ({ path: [], reason: "is not known", unknown: name }));
      return [...known.issuesOf(value), ...unknown];
    },
    knownAt: known.knownAt,
  };
}

const mustBeObject = "must be an object";

function inside(name: string, issues: readonly Issue[]): readonly Issue[] {
  return issues.map((issue) => ({ ...issue, path: [name, ...issue.path] }));
}

/** Whether it is an object without a class. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm, such as a VM's, has another `Object.prototype`.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
