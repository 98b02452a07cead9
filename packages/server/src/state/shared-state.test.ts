import fc from "fast-check";
import { McpSessionError } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { createSharedState, type OnStateConflict } from "./shared-state.ts";
import { keptWriters, type StoredState } from "../records/stored-session.ts";

interface Notes {
  notes: string[];
}

/** A save that the store did, or did not do, before it failed. */
type Fault = "stored" | "not stored" | "none";

const down = () => new McpSessionError("STORE_FAILED", "The store is down.");

/** The state as a store has it, for any number of replicas. */
function createStored() {
  let text = JSON.stringify({ notes: [] });
  let version = 0;
  let isGone = false;
  let writers: string[] = [];
  /** The faults of the next saves, one each; then all of them work. */
  const faults: Fault[] = [];
  return {
    faults,
    end: () => {
      isGone = true;
    },
    get notes() {
      return (JSON.parse(text) as Notes).notes;
    },
    replica(onConflict?: OnStateConflict<Notes>, maxBytes = 1_000) {
      const shared = createSharedState<Notes>({
        state: JSON.parse(text) as StoredState,
        version,
        maxBytes,
        onConflict,
        save: async (state, ifVersion, writer) => {
          await Promise.resolve();
          const fault = faults.shift();
          if (fault === "not stored") throw down();
          if (isGone) return { outcome: "gone" };
          if (ifVersion !== version) {
            const theirs = JSON.parse(text) as StoredState;
            return { outcome: "conflict", state: theirs, version, writers };
          }
          text = JSON.stringify(state);
          version += 1;
          writers = [...writers, writer].slice(-keptWriters);
          if (fault === "stored") throw down();
          return { outcome: "saved", version };
        },
      });
      const refresh = () => shared.refresh(JSON.parse(text) as StoredState, version, writers);
      return { shared, refresh };
    },
  };
}

/** Keeps the notes of both sides. */
const union: OnStateConflict<Notes> = ({ base, ours, theirs }) => ({
  notes: [...theirs.notes, ...ours.notes.slice(base.notes.length)],
});

const code = (expected: string) => expect.objectContaining({ code: expected });

describe("the state of a session", () => {
  test("is saved when a call settles, and read by the next one", async () => {
    const stored = createStored();
    const [one, two] = [stored.replica(), stored.replica()];
    const hold = one.shared.hold();
    one.shared.current.notes.push("a");
    expect(stored.notes).toEqual([]);
    await one.shared.settle(hold);
    expect(stored.notes).toEqual(["a"]);
    two.refresh();
    expect(two.shared.current.notes).toEqual(["a"]);
  });

  test("conflicts visibly, and the losing change is gone from memory too", async () => {
    const stored = createStored();
    const [one, two] = [stored.replica(), stored.replica()];
    const holds = [one, two].map(({ shared }, index) => {
      const hold = shared.hold();
      shared.current.notes.push(String(index));
      return hold;
    });
    await one.shared.settle(holds[0]!);
    await expect(two.shared.settle(holds[1]!)).rejects.toEqual(code("STATE_CONFLICT"));
    two.shared.release(holds[1]!);
    expect(two.shared.current.notes).toEqual(["0"]);
    const next = two.shared.hold();
    two.shared.current.notes.push("2");
    await two.shared.settle(next);
    expect(stored.notes).toEqual(["0", "2"]);
  });

  test("is merged by the author", async () => {
    const stored = createStored();
    const [one, two] = [stored.replica(union), stored.replica(union)];
    const [first, second] = [one.shared.hold(), two.shared.hold()];
    one.shared.current.notes.push("a");
    two.shared.current.notes.push("b");
    await Promise.all([one.shared.settle(first), two.shared.settle(second)]);
    expect(stored.notes).toEqual(["a", "b"]);
  });

  test("a change to an object from before a refresh is a conflict, not lost", async () => {
    const stored = createStored();
    const [one, two] = [stored.replica(), stored.replica()];
    const slow = two.shared.hold();
    const { notes } = two.shared.current;
    const other = one.shared.hold();
    one.shared.current.notes.push("a");
    await one.shared.settle(other);
    two.refresh();
    notes.push("late");
    await expect(two.shared.settle(slow)).rejects.toEqual(code("STATE_CONFLICT"));
  });

  test("every call that may have made a lost change is told", async () => {
    const stored = createStored();
    const [one, two] = [stored.replica(), stored.replica()];
    const [first, second] = [two.shared.hold(), two.shared.hold()];
    two.shared.current.notes.push("b");
    const other = one.shared.hold();
    one.shared.current.notes.push("a");
    await one.shared.settle(other);
    await expect(two.shared.settle(first)).rejects.toEqual(code("STATE_CONFLICT"));
    await expect(two.shared.settle(second)).rejects.toEqual(code("STATE_CONFLICT"));
    two.shared.release(first);
    two.shared.release(second);
    const third = two.shared.hold();
    await expect(two.shared.settle(third)).resolves.toBeUndefined();
  });

  test("updates are applied to the newest state, again if need be", async () => {
    const stored = createStored();
    const replicas = [stored.replica(), stored.replica(), stored.replica()];
    await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        replicas[n % 3]!.shared.update(({ notes }) => notes.push(String(n))),
      ),
    );
    expect(stored.notes.toSorted()).toEqual(
      Array.from({ length: 30 }, (_, n) => `${n}`).toSorted(),
    );
  });

  test("does not grow over its limit, and is as before then", async () => {
    const stored = createStored();
    const { shared } = stored.replica(undefined, 100);
    const hold = shared.hold();
    shared.current.notes.push("x".repeat(200));
    await expect(shared.settle(hold)).rejects.toEqual(code("STATE_INVALID"));
    shared.release(hold);
    expect(shared.current.notes).toEqual([]);
    await expect(shared.update(({ notes }) => notes.push("y".repeat(200)))).rejects.toEqual(
      code("STATE_INVALID"),
    );
    expect(stored.notes).toEqual([]);
  });

  test("is not brought back by a call that outlived its session", async () => {
    const stored = createStored();
    const { shared } = stored.replica();
    const hold = shared.hold();
    shared.current.notes.push("a");
    stored.end();
    await expect(shared.settle(hold)).rejects.toEqual(code("SESSION_LOST"));
    expect(stored.notes).toEqual([]);
  });

  test("a merge that throws is a conflict with its cause", async () => {
    const stored = createStored();
    const cause = new Error("no");
    const [one, two] = [stored.replica(), stored.replica(() => Promise.reject(cause))];
    const [first, second] = [one.shared.hold(), two.shared.hold()];
    one.shared.current.notes.push("a");
    two.shared.current.notes.push("b");
    await one.shared.settle(first);
    await expect(two.shared.settle(second)).rejects.toEqual(
      expect.objectContaining({ code: "STATE_CONFLICT", cause }),
    );
  });
});

// It met its own change as somebody else's: stored twice with a merge, a false conflict without.
describe("a change that was stored, though the store failed", () => {
  test.each([
    ["with a merge", union],
    ["without", undefined],
  ])("is known again by the next call that holds it, %s", async (_, onConflict) => {
    const stored = createStored();
    const { shared } = stored.replica(onConflict);
    const [first, second] = [shared.hold(), shared.hold()];
    shared.current.notes.push("a");
    stored.faults.push("stored");
    await expect(shared.settle(first)).rejects.toEqual(code("STORE_FAILED"));
    shared.current.notes.push("b");
    await shared.settle(second);
    expect(stored.notes).toEqual(["a", "b"]);
  });

  test("is known again under later writes of others", async () => {
    const stored = createStored();
    const [one, two] = [stored.replica(union), stored.replica(union)];
    const [first, second] = [one.shared.hold(), one.shared.hold()];
    one.shared.current.notes.push("a");
    stored.faults.push("stored");
    await expect(one.shared.settle(first)).rejects.toEqual(code("STORE_FAILED"));
    two.refresh();
    await two.shared.update(({ notes }) => notes.push("b"));
    await one.shared.settle(second);
    expect(stored.notes).toEqual(["a", "b"]);
    expect(one.shared.current.notes).toEqual(["a", "b"]);
  });

  test("is a conflict rather than stored twice, once its name is gone", async () => {
    const stored = createStored();
    const [one, two] = [stored.replica(union), stored.replica(union)];
    const [first, second] = [one.shared.hold(), one.shared.hold()];
    one.shared.current.notes.push("a");
    stored.faults.push("stored");
    await expect(one.shared.settle(first)).rejects.toEqual(code("STORE_FAILED"));
    two.refresh();
    for (let n = 0; n < keptWriters; n++) {
      await two.shared.update(({ notes }) => notes.push(`${n}`));
    }
    await expect(one.shared.settle(second)).rejects.toEqual(code("STATE_CONFLICT"));
    expect(stored.notes.filter((note) => note === "a")).toEqual(["a"]);
    expect(one.shared.current.notes).toEqual(stored.notes);
  });
});

/** A call: on which replica, how it changes the state, and how long it holds on to the state that it read. */
const call = fc.record({
  replica: fc.nat({ max: 2 }),
  how: fc.constantFrom("change", "update"),
  before: fc.nat({ max: 4 }),
  after: fc.nat({ max: 4 }),
});

const ticks = async (count: number) => {
  for (let n = 0; n < count; n++) await Promise.resolve();
};

/** Each call adds one note of its own; which calls were told that theirs is stored? */
async function runCalls(
  calls: { replica: number; how: string; before: number; after: number }[],
  onConflict?: OnStateConflict<Notes>,
  faults: Fault[] = [],
) {
  const stored = createStored();
  stored.faults.push(...faults);
  const replicas = [0, 1, 2].map(() => stored.replica(onConflict, 100_000));
  const told = await Promise.all(
    calls.map(async ({ replica, how, before, after }, n) => {
      const { shared, refresh } = replicas[replica]!;
      await ticks(n % 3);
      refresh();
      const hold = shared.hold();
      try {
        const { notes } = shared.current;
        await ticks(before);
        if (how === "change") notes.push(`${n}`);
        else await shared.update((state) => state.notes.push(`${n}`));
        await ticks(after);
        await shared.settle(hold);
        return `${n}`;
      } catch {
        return undefined;
      } finally {
        shared.release(hold);
      }
    }),
  );
  return { stored: stored.notes, told: told.filter((note) => note !== undefined) };
}

test("a change that a call was told is stored is stored, however calls interleave", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 12 }), async (calls) => {
      const { stored, told } = await runCalls(calls);
      expect(stored).toEqual(expect.arrayContaining(told));
    }),
    { numRuns: 500 },
  );
});

test("with a merge that keeps both sides every call's change is stored, once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 12 }), async (calls) => {
      const { stored, told } = await runCalls(calls, union);
      expect(told).toHaveLength(calls.length);
      expect(stored.toSorted()).toEqual(told.toSorted());
    }),
    { numRuns: 500 },
  );
});

test("no change is stored twice, whichever saves fail and whether or not they were done", async () => {
  const fault = fc.constantFrom<Fault>("stored", "not stored", "none");
  await fc.assert(
    fc.asyncProperty(
      fc.array(call, { maxLength: 12 }),
      fc.array(fault, { maxLength: 12 }),
      async (calls, faults) => {
        const { stored, told } = await runCalls(calls, union, faults);
        expect(new Set(stored).size).toBe(stored.length);
        expect(stored).toEqual(expect.arrayContaining(told));
      },
    ),
    { numRuns: 500 },
  );
});
