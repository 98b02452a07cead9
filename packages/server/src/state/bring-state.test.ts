import fc from "fast-check";
import { expect, test } from "vitest";
import { bringState } from "./bring-state.ts";
import { isSame } from "./merge-states.ts";
import type { StoredState } from "./stored-state.ts";

const states = fc.dictionary(
  fc.constantFrom("a", "b", "__proto__"),
  fc.jsonValue({ maxDepth: 3 }),
) as fc.Arbitrary<StoredState>;

const copyOf = (state: StoredState) => JSON.parse(JSON.stringify(state)) as StoredState;

test("makes one state equal to another, whichever they are", () => {
  fc.assert(
    fc.property(states, states, (from, to) => {
      const draft = copyOf(from);
      bringState(draft, copyOf(to));
      expect(isSame(draft, copyOf(to))).toBe(true);
      expect(Object.getPrototypeOf(draft)).toBe(Object.prototype);
    }),
    { numRuns: 500 },
  );
});

test("keeps the objects and arrays that still are there", () => {
  const draft = { cart: { items: [{ id: 1 }, { id: 2 }] }, gone: {} };
  const { cart } = draft;
  const { items } = cart;
  const [first, second] = items;
  bringState(draft, { cart: { items: [{ id: 1 }, { id: 2, n: 3 }, { id: 4 }] }, added: {} });
  expect(draft).toEqual({
    cart: { items: [{ id: 1 }, { id: 2, n: 3 }, { id: 4 }] },
    added: {},
  });
  expect(draft.cart).toBe(cart);
  expect(cart.items).toBe(items);
  expect(items[0]).toBe(first);
  expect(items[1]).toBe(second);
});

test("an item stays the same one when others before or after it come and go", () => {
  const draft = { items: [{ id: 1 }, { id: 2 }, { id: 3 }] };
  const [, second, third] = draft.items;
  bringState(draft, { items: [{ id: 2 }, { id: 3 }] });
  expect(draft.items[0]).toBe(second);
  expect(draft.items[1]).toBe(third);
  bringState(draft, { items: [{ id: 0 }, { id: 2 }, { id: 3 }] });
  expect(draft.items).toEqual([{ id: 0 }, { id: 2 }, { id: 3 }]);
  expect(draft.items[1]).toBe(second);
});

test("equal items keep their places when another one follows", () => {
  const draft = { items: [{ n: 1 }, { n: 1 }] };
  const [first, second] = draft.items;
  bringState(draft, { items: [{ n: 1 }, { n: 1 }, { n: 1 }] });
  expect(draft.items).toHaveLength(3);
  expect(draft.items[0]).toBe(first);
  expect(draft.items[1]).toBe(second);
});

test("replaces what somebody froze", () => {
  const draft = { a: Object.freeze({ n: 1 }), b: Object.freeze([1]) };
  bringState(draft, { a: { n: 2 }, b: [1, 2] });
  expect(draft).toEqual({ a: { n: 2 }, b: [1, 2] });
});
