import { McpSessionError } from "@durable-mcp/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createCallState, frozenState, updateState } from "./call-state.ts";
import type { StateOptions } from "./combine-states.ts";
import type { StateRow, StoredState } from "./stored-state.ts";

interface Notes {
  notes: string[];
  n?: number;
  m?: number;
}

type Write = "stored" | "stored, then down" | "down";

/** The state as a store has it, for any number of replicas. */
function createStored(first: object = { notes: [] }) {
  let state = first as StoredState;
  let isGone = false;
  const stored = {
    writes: 0,
    /** What becomes of the next writes; then all of them are stored. */
    next: [] as Write[],
    get state() {
      return state;
    },
    set state(next) {
      state = next;
    },
    end: () => {
      isGone = true;
    },
    row(): StateRow & { state: StoredState } {
      return {
        state,
        async commit(change) {
          for (;;) {
            const from = this.state;
            const next = await change!(from);
            await Promise.resolve();
            const write = stored.next.shift() ?? "stored";
            if (isGone) return "gone";
            if (write === "down") throw down();
            stored.writes += 1;
            const isFirst = from === state;
            if (isFirst) state = next;
            this.state = state;
            if (write !== "stored") throw down();
            if (isFirst) return "stored";
          }
        },
      };
    },
  };
  return stored;
}

const down = () => new McpSessionError("STORE_FAILED", "The store is down.");
const code = (expected: string) => expect.objectContaining({ code: expected });
const call = (row: StateRow, options: Partial<StateOptions<Notes>> = {}) =>
  createCallState<Notes>(row, { maxBytes: 10_000, ...options });

/** Ends a call as the handler does. */
async function answer(row: StateRow, state: ReturnType<typeof call>): Promise<void> {
  try {
    const change = state.change();
    if (change && (await row.commit(change)) === "gone") throw new Error("gone");
  } finally {
    state.close();
  }
}

describe("the draft of a call", () => {
  test("is not written when nobody read it, or nobody changed it", () => {
    const row = createStored({ notes: ["a"], n: 1 }).row();
    expect(call(row).change()).toBeUndefined();
    const state = call(row);
    state.draft.notes.push("b");
    state.draft.notes.pop();
    delete state.draft.n;
    Object.assign(state.draft, { n: 1, m: undefined });
    expect(state.change()).toBeUndefined();
  });

  test("does not merge over its limit", async () => {
    const stored = createStored({ notes: [] });
    const rows = [stored.row(), stored.row()];
    const states = rows.map((row) => call(row, { maxBytes: 40 }));
    Object.assign(states[0]!.draft, { a: "x".repeat(15) });
    Object.assign(states[1]!.draft, { b: "y".repeat(15) });
    await answer(rows[0]!, states[0]!);
    await expect(answer(rows[1]!, states[1]!)).rejects.toEqual(code("STATE_INVALID"));
    expect(stored.state).toEqual({ notes: [], a: "x".repeat(15) });
  });
});

/** Two calls change the same note at once; the second one meets the first one's change. */
async function conflict(options: Partial<StateOptions<Notes>>) {
  const stored = createStored();
  const seen: boolean[] = [];
  const rows = [stored.row(), stored.row()];
  const states = rows.map((row) =>
    call(row, { ...options, onConflictSeen: (is) => seen.push(is) }),
  );
  states[0]!.draft.notes.push("a");
  states[1]!.draft.notes.push("b");
  await answer(rows[0]!, states[0]!);
  const error: unknown = await answer(rows[1]!, states[1]!).catch((reason: unknown) => reason);
  return { error, seen, stored: stored.state };
}

describe("changes of the same path", () => {
  test("are merged by the author, from copies", async () => {
    const { error, seen, stored } = await conflict({
      onConflict: ({ base, ours, theirs }) => {
        expect({ base, ours, theirs }).toEqual({
          base: { notes: [] },
          ours: { notes: ["b"] },
          theirs: { notes: ["a"] },
        });
        theirs.notes.push(...ours.notes);
        return Promise.resolve(theirs);
      },
    });
    expect(error).toBeUndefined();
    expect(seen).toEqual([true]);
    expect(stored).toEqual({ notes: ["a", "b"] });
  });

  test("stay a conflict when the author gives up, with the cause when he fails", async () => {
    const cause = new Error("no");
    const failing = await conflict({ onConflict: () => Promise.reject(cause) });
    expect(failing.error).toEqual(expect.objectContaining({ code: "STATE_CONFLICT", cause }));
    expect(failing.seen).toEqual([false]);
    const givenUp = await conflict({
      onConflict: ({ theirs }) => {
        theirs.notes.push("never stored");
        return undefined;
      },
    });
    expect(givenUp.error).toEqual(code("STATE_CONFLICT"));
    expect(givenUp.stored).toEqual({ notes: ["a"] });
  });

  test("a merged state is checked as any other", async () => {
    const told: unknown[] = [];
    const { error, seen } = await conflict({
      onConflict: () => ({ notes: [1n] as never }),
      onInvalid: (reason) => told.push(reason),
    });
    expect(error).toEqual(code("STATE_INVALID"));
    expect((error as Error).message).toContain("onStateConflict().notes[0] is a BigInt");
    expect([seen, told]).toEqual([[false], [error]]);
  });

  test("are given up when another write is faster 20 times", async () => {
    const stored = createStored({ notes: [], n: 0 });
    const row = stored.row();
    const seen: boolean[] = [];
    const state = call(row, { onConflictSeen: (is) => seen.push(is) });
    state.draft.m = 1;
    const change = state.change()!;
    for (let n = 0; n < 20; n++) await change({ notes: [], n });
    await expect(async () => change({ notes: [], n: 20 })).rejects.toEqual(code("STATE_CONFLICT"));
    expect(seen).toEqual([false]);
  });
});

async function changeLater({ notes }: Notes): Promise<never> {
  notes.push("a");
  await Promise.resolve();
  throw new Error("Nobody hears this.");
}

describe("an update", () => {
  test("leaves references into the draft alive", async () => {
    const stored = createStored({ notes: ["a"] });
    const row = stored.row();
    const state = call(row);
    const { notes } = state.draft;
    await state.update((newest) => newest.notes.push("b"));
    expect(notes).toEqual(["a", "b"]);
    notes.push("c");
    await answer(row, state);
    expect(stored.state).toEqual({ notes: ["a", "b", "c"] });
  });

  test("keeps what the call changes while it is stored", async () => {
    const stored = createStored();
    const row = stored.row();
    const state = call(row);
    state.draft.n = 1;
    const updated = state.update((newest) => void newest.notes.push("a"));
    await Promise.resolve();
    await Promise.resolve();
    state.draft.n = 2;
    await updated;
    expect(stored.state).toEqual({ notes: ["a"], n: 1 });
    expect(state.draft).toEqual({ notes: ["a"], n: 2 });
    await answer(row, state);
    expect(stored.state).toEqual({ notes: ["a"], n: 2 });
  });

  test("and a change of the same path while it is stored are a conflict, not a loss", async () => {
    const stored = createStored();
    const row = stored.row();
    const state = call(row);
    state.draft.n = 1;
    const updated = state.update((newest) => void (newest.n = 10));
    await Promise.resolve();
    await Promise.resolve();
    state.draft.n = 2;
    await updated;
    await expect(answer(row, state)).rejects.toEqual(code("STATE_CONFLICT"));
    expect(stored.state).toEqual({ notes: [], n: 10 });
  });

  test("reaches a draft that was made meanwhile", async () => {
    const row = createStored().row();
    const state = call(row);
    const updated = state.update((newest) => newest.notes.push("a"));
    await Promise.resolve();
    await Promise.resolve();
    const { notes } = state.draft;
    expect(notes).toEqual([]);
    await updated;
    expect(notes).toEqual(["a"]);
  });

  test("is stored whatever becomes of the draft meanwhile", async () => {
    const stored = createStored();
    const row = stored.row();
    for (const spoil of [Object.freeze, (draft: Notes) => void Object.assign(draft, { n: 1n })]) {
      const state = call(row);
      const { draft } = state;
      const updated = state.update((newest) => newest.notes.push("a"));
      await Promise.resolve();
      await Promise.resolve();
      spoil(draft);
      await updated;
      const answered = answer(row, state).catch((error: McpSessionError) => error.code);
      expect(await answered).toBe(spoil === Object.freeze ? undefined : "STATE_INVALID");
    }
    expect(stored.state).toEqual({ notes: ["a", "a"] });
  });

  test("has a result that is not taken for the draft", async () => {
    const stored = createStored();
    const state = call(stored.row());
    const given = { deep: ["a"] };
    const notes = await state.update((newest) => {
      Object.assign(newest, { given });
      return newest.notes;
    });
    expect(() => notes.push("lost")).toThrow(TypeError);
    given.deep.push("of the author alone");
    expect(stored.state).toEqual({ notes: [], given: { deep: ["a"] } });
  });

  test("may put a part of the draft into the state", async () => {
    const stored = createStored();
    const row = stored.row();
    const state = call(row);
    const { notes } = state.draft;
    await state.update((newest) => {
      newest.notes = notes;
    });
    notes.push("a");
    await answer(row, state);
    expect(stored.state).toEqual({ notes: ["a"] });
  });

  test("must be synchronous, and its failure is nobody else's", async () => {
    const stored = createStored();
    const row = stored.row();
    const told: unknown[] = [];
    const state = call(row, { onInvalid: (error) => told.push(error) });
    const error: unknown = await state.update(changeLater).catch((reason: unknown) => reason);
    expect(error).toEqual(code("STATE_INVALID"));
    expect((error as Error).message).toContain("synchronous");
    expect(told).toEqual([error]);
    expect([stored.writes, state.draft]).toEqual([0, { notes: [] }]);
  });

  test("that throws stores nothing, nor does one that leaves no JSON", async () => {
    const stored = createStored();
    const row = stored.row();
    const state = call(row, { maxBytes: 50 });
    state.draft.n = 1;
    const failure = new Error("no");
    const failing = (newest: Notes) => {
      newest.notes.push("a");
      throw failure;
    };
    await expect(state.update(failing)).rejects.toBe(failure);
    const large = state.update((newest) => newest.notes.push("x".repeat(50)));
    await expect(large).rejects.toEqual(code("STATE_INVALID"));
    expect([stored.writes, state.draft]).toEqual([0, { notes: [], n: 1 }]);
    await answer(row, state);
    expect(stored.state).toEqual({ notes: [], n: 1 });
  });

  test("of a state that is gone fails", async () => {
    const stored = createStored();
    const row = stored.row();
    stored.end();
    await expect(call(row).update((newest) => newest.notes.push("a"))).rejects.toEqual(
      code("SESSION_LOST"),
    );
  });

  test("that a failing store had stored, and a call that goes on, conflict: nothing is done twice", async () => {
    const stored = createStored();
    const row = stored.row();
    const state = call(row);
    state.draft.notes.push("a");
    stored.next.push("stored, then down");
    await expect(state.update((newest) => void (newest.n = 1))).rejects.toEqual(
      code("STORE_FAILED"),
    );
    await expect(answer(row, state)).rejects.toEqual(code("STATE_CONFLICT"));
    expect(stored.state).toEqual({ notes: ["a"], n: 1 });
  });

  test("after the answer stores its own change alone", async () => {
    const stored = createStored();
    const row = stored.row();
    const state = call(row);
    Object.assign(state.draft, { never: 1n });
    await expect(answer(row, state)).rejects.toEqual(code("STATE_INVALID"));
    await state.update((newest) => newest.notes.push("late"));
    expect(stored.state).toEqual({ notes: ["late"] });
  });
});

type Old = { list?: string[]; notes?: string[] };

function migrate(stored: StoredState): Notes {
  const { list, notes } = stored as Old;
  return { notes: notes ?? list ?? [] };
}

function migrateInPlace(stored: StoredState): Notes {
  (stored as Old).list?.push("b");
  return migrate(stored);
}

describe("a state of an earlier release", () => {
  test("is merged with a change that an earlier release makes meanwhile", async () => {
    const stored = createStored({ list: ["a"] });
    const row = stored.row();
    const state = call(row, { migrate: (old) => ({ ...migrate(old), n: Number(old["n"] ?? 0) }) });
    state.draft.n = 5;
    stored.state = { list: ["a", "b"] };
    await answer(row, state);
    expect(stored.state).toEqual({ notes: ["a", "b"], n: 5 });
  });

  test("can be read although it is larger than allowed by now", () => {
    const row = createStored({ list: ["x".repeat(50)] }).row();
    expect(call(row, { migrate, maxBytes: 20 }).draft.notes).toHaveLength(1);
  });

  test("is migrated from a copy, also for an update and outside of calls", async () => {
    const stored = createStored({ list: ["a"] });
    const row = stored.row();
    const options = { maxBytes: 1_000, migrate: migrateInPlace };
    expect(frozenState(row, options)).toEqual({ notes: ["a", "b"] });
    expect(stored.state).toEqual({ list: ["a"] });
    await updateState(row, options, ({ notes }) => notes.push("c"));
    expect(stored.state).toEqual({ notes: ["a", "b", "c"] });
  });

  test("a migration to no JSON is refused", () => {
    const row = createStored({ list: [] }).row();
    const state = call(row, { migrate: () => ({ notes: new Set() }) as never });
    expect(() => state.draft).toThrow(/migrate\(\)\.notes is a Set/);
  });
});

test("outside of calls the state is read-only, and one object until it changes", async () => {
  const row = createStored({ notes: ["a"] }).row();
  const options = { maxBytes: 1_000 };
  const state = frozenState<Notes>(row, options);
  expect(state).toEqual({ notes: ["a"] });
  expect(() => state.notes.push("b")).toThrow(TypeError);
  expect(frozenState(row, options)).toBe(state);
  await updateState<Notes, void>(row, options, ({ notes }) => void notes.push("b"));
  expect(frozenState(row, options)).toEqual({ notes: ["a", "b"] });
  expect(Object.isFrozen(row.state)).toBe(false);
});

const plan = fc.record({
  replica: fc.nat({ max: 2 }),
  how: fc.constantFrom("change", "update", "both"),
  before: fc.nat({ max: 6 }),
  after: fc.nat({ max: 6 }),
});

const ticks = async (count: number) => {
  for (let n = 0; n < count; n++) await Promise.resolve();
};

type Plan = { replica: number; how: string; before: number; after: number };

/** Each call adds one note of its own, under a key of its own or of all; which ones were told that it is stored? */
async function runCalls(plans: Plan[], options: Partial<StateOptions<Notes>>, writes: Write[]) {
  const stored = createStored();
  stored.next.push(...writes);
  const rows = [stored.row(), stored.row(), stored.row()];
  const told = await Promise.all(
    plans.map(async ({ replica, how, before, after }, n) => {
      const row = rows[replica]!;
      await ticks(n % 3);
      const state = call(row, options);
      try {
        const { draft } = state;
        await ticks(before);
        if (how === "change") draft.notes.push(`${n}`);
        else await state.update(({ notes }) => notes.push(`${n}`));
        if (how === "both") Object.assign(draft, { [`own-${n}`]: true });
        await ticks(after);
        await answer(row, state);
        return n;
      } catch {
        return undefined;
      }
    }),
  );
  return { state: stored.state as unknown as Notes, told: told.filter((n) => n !== undefined) };
}

const union: StateOptions<Notes>["onConflict"] = ({ base, ours, theirs }) => ({
  ...theirs,
  notes: [...theirs.notes, ...ours.notes.slice(base.notes.length)],
});

test("a change that a call was told is stored is stored once, however calls interleave", async () => {
  const write = fc.constantFrom<Write>("stored", "down");
  await fc.assert(
    fc.asyncProperty(
      fc.array(plan, { maxLength: 10 }),
      fc.constantFrom(undefined, union),
      fc.array(write, { maxLength: 10 }),
      async (plans, onConflict, writes) => {
        const { state, told } = await runCalls(plans, { onConflict }, writes);
        expect(state.notes).toEqual(expect.arrayContaining(told.map(String)));
        expect(new Set(state.notes).size).toBe(state.notes.length);
        const both = told.filter((n) => plans[n]!.how === "both").map((n) => `own-${n}`);
        expect(Object.keys(state)).toEqual(expect.arrayContaining(both));
        const isAllStored = onConflict && !writes.includes("down");
        expect(told.length).toBeGreaterThanOrEqual(isAllStored ? plans.length : 0);
      },
    ),
    { numRuns: 200 },
  );
});
