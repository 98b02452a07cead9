import { stateInvalid, stateTooLarge } from "./state-errors.ts";
import type { StoredState } from "./stored-state.ts";

/**
 * An object that JSON holds, as a constraint: `<State extends JsonState<State>>`. It refuses a state with
 * a `Date`, `Map`, `Set`, `bigint`, function, or an object with methods. Interfaces need no index signature.
 * A property may be `unknown`: its value is checked when it is stored.
 */
export type JsonState<State> = object &
  JsonFields<State> & {
    /** No state is an array. */
    readonly [Symbol.iterator]?: never;
  };

type JsonFields<Value> = {
  [Key in keyof Value]: Key extends symbol ? never : JsonProperty<Value[Key]>;
};

type JsonPart<Value> = unknown extends Value
  ? Value
  : Value extends string | number | boolean | null
    ? Value
    : Value extends bigint | symbol | undefined | AnyFunction
      ? never
      : Value extends readonly unknown[]
        ? { [Index in keyof Value]: JsonPart<Value[Index]> }
        : JsonFields<Value>;

/** A property whose value is `undefined` counts as absent. */
type JsonProperty<Value> = JsonPart<Value> | Extract<Value, undefined>;

type AnyFunction = ((...args: never) => unknown) | (abstract new (...args: never) => unknown);

/** JSON of more levels overflows the stack of some programs that read it. */
const maxDepth = 1_000;

/**
 * A copy of the state, as it is stored.
 *
 * @param root the value's name in messages
 * @throws {McpSessionError} `STATE_INVALID` naming the path of a part that JSON does not hold, or the limit
 */
export function checkState(state: unknown, maxBytes: number, root = "state"): StoredState {
  inspect(state, maxBytes, root);
  const text = JSON.stringify(state);
  if (text.length * 3 > maxBytes) {
    const bytes = new TextEncoder().encode(text).byteLength;
    if (bytes > maxBytes) throw stateTooLarge(bytes, maxBytes);
  }
  return JSON.parse(text) as StoredState;
}

/** A copy of what is JSON already. */
export function copyState(state: StoredState): StoredState {
  return JSON.parse(JSON.stringify(state)) as StoredState;
}

/** All plain objects and arrays of a state. */
export function partsOf(state: object): Set<object> {
  const parts = new Set([state]);
  for (const part of parts) {
    for (const value of valuesOf(part)) {
      if (isObject(value) && otherKind(value) === undefined) parts.add(value);
    }
  }
  return parts;
}

function valuesOf(part: object): unknown[] {
  try {
    return Object.values(part);
  } catch {
    // A getter has failed. No state that is stored has one.
    return Object.values(Object.getOwnPropertyDescriptors(part)).map(
      ({ value }) => value as unknown,
    );
  }
}

/** Freezes a state with all of its parts, so that a write throws. */
export function freezeState<State extends object>(state: State): State {
  for (const part of partsOf(state)) Object.freeze(part);
  return state;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

type PathSegment = string | number;

/** @throws {McpSessionError} `STATE_INVALID` */
function inspect(state: unknown, maxBytes: number, root: string): void {
  const path: PathSegment[] = [];
  const around = new Set<object>();
  /** The JSON has at least so many bytes. Repeated objects could make it endless. */
  let bytes = 0;
  function refuse(problem: string): never {
    throw stateInvalid(`${printPath(root, path)} ${problem}`);
  }

  function inspectPart(part: unknown): void {
    bytes += typeof part === "string" ? part.length + 2 : 1;
    if (bytes > maxBytes) throw stateTooLarge(undefined, maxBytes);
    if (typeof part === "number" && !Number.isFinite(part)) {
      refuse("is NaN or infinite; store a finite number or null");
    }
    if (isObject(part)) inspectObject(part);
    else if ((typeof part) in primitives) refuse(primitives[typeof part]!);
  }

  function inspectObject(part: object): void {
    if (around.has(part)) refuse("contains itself; store an id in its place");
    if (path.length > maxDepth) refuse(`is nested deeper than ${maxDepth} levels; make it flatter`);
    const kind = otherKind(part);
    if (kind !== undefined) refuse(kind);
    around.add(part);
    if (Array.isArray(part)) inspectItems(part);
    else inspectFields(part);
    around.delete(part);
  }

  function inspectFields(part: object): void {
    const depth = path.length;
    for (const key of Reflect.ownKeys(part)) {
      if (typeof key === "symbol") return refuse("has a symbol as a key; JSON has texts alone");
      path[depth] = key;
      const property = Object.getOwnPropertyDescriptor(part, key)!;
      if (!("value" in property)) refuse("is a getter or setter; store the value itself");
      if (!property.enumerable) refuse("is not enumerable; JSON leaves it out, so assign it");
      if (property.value !== undefined) {
        bytes += key.length + 3;
        inspectPart(property.value);
      }
      path.length = depth;
    }
  }

  function inspectItems(list: readonly unknown[]): void {
    const depth = path.length;
    for (let index = 0; index < list.length; index++) {
      path[depth] = index;
      const item = list[index];
      if (item === undefined && !Object.hasOwn(list, index)) {
        refuse("is a gap in an array; store null, or leave no gaps");
      }
      inspectPart(item);
    }
    path.length = depth;
    if (Reflect.ownKeys(list).length > list.length + 1) {
      refuse("is an array with properties; store an object in its place");
    }
  }

  if (!isObject(state) || Array.isArray(state)) refuse("is not an object; store one with a key");
  inspectPart(state);
}

const primitives: Partial<Record<string, string>> = {
  bigint: "is a BigInt; store its text or a number",
  function: "is a function; store data alone",
  symbol: "is a symbol; store a text",
  undefined: "is undefined; store null or leave it out",
};

/** What an object is that is neither a plain one nor an array, and what to store in its place. */
function otherKind(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  // Also those of another realm, such as a test runner's.
  if (Array.isArray(value) && Array.isArray(prototype)) return undefined;
  if (prototype === null || isRootPrototype(prototype)) return undefined;
  if (value instanceof Date) return "is a Date; store its ISO text or a number";
  if (value instanceof Map) return "is a Map; store an object, or an array of its entries";
  if (value instanceof Set) return "is a Set; store an array";
  if (value instanceof Promise) return "is a promise; await it first";
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return "has bytes; store them as a text, in Base64 for example";
  }
  return "is an object of a class; store its fields in a plain object";
}

function isRootPrototype(prototype: unknown): boolean {
  if (prototype === Object.prototype) return true;
  return (
    Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "isPrototypeOf")
  );
}

/** A key that is no short name may be data, and is left out. */
function printPath(root: string, path: readonly PathSegment[]): string {
  const printed = path.map((segment) => {
    if (typeof segment === "number") return `[${segment}]`;
    return /^[A-Za-z_$][\w$]{0,31}$/.test(segment) ? `.${segment}` : "[…]";
  });
  if (printed.length > 20) printed.splice(10, printed.length - 20, "…");
  return root + printed.join("");
}
