import { expectTypeOf, test } from "vitest";
import type { JsonState } from "./json-state.ts";

interface Options<State extends object> {
  readonly initialState?: () => State;
  readonly onStateConflict?: (states: { ours: State; theirs: State }) => State | undefined;
  readonly createServer: (context: { state: State }) => object;
}

declare function create<State extends JsonState<State> = Record<string, unknown>>(
  options: Options<State>,
): State;

const createServer = () => ({});

interface Item {
  readonly id: number;
  note?: string;
  tags: readonly string[];
  parts?: Item[] | undefined;
}

interface Cart {
  owner: { name: string } | null;
  items: Item[];
  byName: Record<string, Item>;
  pair: readonly [string, number?];
  mode: "open" | "closed";
  id: string & { readonly brand: "id" };
  extra: unknown;
  untyped: any;
}

class Plain {
  x = 1;
}

class WithMethod {
  x = 1;
  double() {
    return this.x * 2;
  }
}

const infer = {
  default: () => create({ createServer }),
  ofInitialState: () => create({ createServer, initialState: () => ({ items: [1], name: "" }) }),
  ofCreateServer: () =>
    create({ createServer: ({ state }: { state: Cart }) => ({ mode: state.mode }) }),
};

test("infers the state", () => {
  expectTypeOf(infer.default).returns.toEqualTypeOf<Record<string, unknown>>();
  expectTypeOf(infer.ofInitialState).returns.toEqualTypeOf<{ items: number[]; name: string }>();
  expectTypeOf(infer.ofCreateServer).returns.toEqualTypeOf<Cart>();
});

test("takes what JSON holds", () => {
  expectTypeOf(create<Cart>).returns.toEqualTypeOf<Cart>();
  void (() => create<Record<string, Item>>({ createServer }));
  void (() => create<{ a?: string; b: string | undefined; c: 1 | 2 }>({ createServer }));
  void (() => create<{ kind: "a"; n: number } | { kind: "b"; items: Item[] }>({ createServer }));
  void (() => create<{}>({ createServer }));
  void (() => create<object>({ createServer }));
  void (() => create<any>({ createServer }));
  // An object with fields alone cannot be told from a plain one; it is refused when it is stored.
  void (() => create<{ plain: Plain }>({ createServer }));
});

test("refuses what JSON does not hold", () => {
  expectTypeOf<{ at: Date }>().not.toExtend<JsonState<{ at: Date }>>();
  // @ts-expect-error a date
  void (() => create<{ at: Date }>({ createServer }));
  // @ts-expect-error a map
  void (() => create<{ items: Map<string, number> }>({ createServer }));
  // @ts-expect-error a bigint
  void (() => create<{ n?: bigint }>({ createServer }));
  // @ts-expect-error a function
  void (() => create<{ f: () => void }>({ createServer }));
  // @ts-expect-error an instance of a class with methods
  void (() => create<{ f: WithMethod }>({ createServer }));
  // @ts-expect-error a symbol as a key
  void (() => create<{ [Symbol.iterator]: string }>({ createServer }));
  // @ts-expect-error undefined in an array
  void (() => create<{ list: (string | undefined)[] }>({ createServer }));
  // @ts-expect-error an array
  void (() => create<string[]>({ createServer }));
  // @ts-expect-error inferred
  void (() => create({ createServer, initialState: () => ({ at: new Date() }) }));
});
