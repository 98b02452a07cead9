import { guarded, wait } from "@durable-mcp/core/internal";
import { createQueue, type RunInTurn } from "../base/queue.ts";
import { bringState } from "./bring-state.ts";
import { checked, combine, type StateOptions, type StateView, view } from "./combine-states.ts";
import { checkState, copyState, freezeState, partsOf } from "./json-state.ts";
import { isSame, mergeStates } from "./merge-states.ts";
import { sessionGone, stateConflict, stateInvalid } from "./state-errors.ts";
import type { StateChange, StateRow, StoredState } from "./stored-state.ts";

/** The state of one call: a draft of its own. */
export interface CallState<State> {
  /** A copy of the stored state, made when it is first read. */
  readonly draft: State;
  /**
   * What is to be stored with the answer; `undefined` when the draft is unchanged.
   * @throws {McpSessionError} `STATE_INVALID` naming the path of a value that is not JSON, or the size.
   *   What it returns throws `STATE_CONFLICT`, and `STATE_INVALID` for a merged state
   */
  change(): StateChange | undefined;
  /**
   * Applies `change` to the newest state with the draft's changes so far, and stores it at once. The
   * draft is brought to the stored state: its objects stay, with new contents.
   * @throws {McpSessionError} `STATE_CONFLICT`, `STATE_INVALID`, `SESSION_LOST`, `STORE_FAILED`
   */
  update<Result>(change: (state: State) => Result): Promise<Result>;
  /** After the answer: freezes the draft, so that late writes throw. */
  close(): void;
}

interface Draft<State> {
  readonly state: State;
  base: StateView;
}

/** How often a change is tried while another write is faster each time. */
const maxAttempts = 20;
/** After so many attempts every other one waits for up to `maxPauseMs`, so that the others get through. */
const promptAttempts = 3;
const maxPauseMs = 20;

export function createCallState<State extends object>(
  row: StateRow,
  options: StateOptions<State>,
): CallState<State> {
  let draft: Draft<State> | undefined;
  let isClosed = false;

  function open(): Draft<State> {
    if (draft) return draft;
    const base = view(row.state, options);
    draft = { state: copyState(base.seen) as State, base };
    if (isClosed) freezeState(draft.state);
    return draft;
  }

  return {
    get draft() {
      return open().state;
    },
    change() {
      if (!draft) return undefined;
      const ours = checked(draft.state, options);
      const { base } = draft;
      if (isSame(base.seen, ours)) return undefined;
      return limitAttempts(options, (stored) => combine(stored, base, ours, options));
    },
    update: (change) =>
      inTurn(row, async () => {
        if (isClosed) return (await storeUpdate(row, options, change)).result;
        const before = draft && { base: draft.base, ours: checked(draft.state, options) };
        const { result, stored } = await storeUpdate(row, options, change, before);
        // It may have been made meanwhile.
        if (draft && !isClosed)
          rebase(draft, before?.ours ?? draft.base.seen, view(stored, options));
        return result;
      }),
    close() {
      isClosed = true;
      if (draft) freezeState(draft.state);
    },
  };
}

/** Applies `change` to the newest state and stores it, for code outside of a call. */
export function updateState<State extends object, Result>(
  row: StateRow,
  options: StateOptions<State>,
  change: (state: State) => Result,
): Promise<Result> {
  return inTurn(row, async () => (await storeUpdate(row, options, change)).result);
}

const frozen = new WeakMap<StateRow, { readonly of: StoredState; readonly state: object }>();

/** The state as last read, for code outside of a call. A write to it throws. */
export function frozenState<State extends object>(
  row: StateRow,
  options: StateOptions<State>,
): State {
  const known = frozen.get(row);
  if (known?.of === row.state) return known.state as State;
  const state = freezeState(copyState(view(row.state, options).seen)) as State;
  frozen.set(row, { of: row.state, state });
  return state;
}

const queues = new WeakMap<StateRow, RunInTurn>();

/** Updates of one row in one process do not compete. */
function inTurn<T>(row: StateRow, task: () => Promise<T>): Promise<T> {
  const run = queues.get(row) ?? createQueue();
  queues.set(row, run);
  return run(task);
}

/** A change that gives up after `maxAttempts`. */
function limitAttempts<State>(options: StateOptions<State>, change: StateChange): StateChange {
  let attempts = 0;
  return (stored) => {
    attempts += 1;
    if (attempts > maxAttempts) {
      guarded(options.onConflictSeen)(false);
      throw stateConflict();
    }
    // After a pause the stored state is an old one, so the attempt after that is made at once.
    if (attempts <= promptAttempts || attempts % 2 === 1) return change(stored);
    return wait(Math.random() * maxPauseMs).then(() => change(stored));
  };
}

async function storeUpdate<State extends object, Result>(
  row: StateRow,
  options: StateOptions<State>,
  change: (state: State) => Result,
  before?: { readonly base: StateView; readonly ours: StoredState },
): Promise<{ readonly result: Result; readonly stored: StoredState }> {
  let done: { readonly result: Result; readonly stored: StoredState } | undefined;
  const apply: StateChange = async (stored) => {
    const from = before
      ? await combine(stored, before.base, before.ours, options)
      : view(stored, options).seen;
    const state = copyState(from) as State;
    const parts = partsOf(state);
    const result = change(state);
    if (isThenable(result)) throw refusePromise(result, options);
    const next = checked(state, options);
    // A write to a part that was kept, as a result for example, would be lost: now it throws.
    for (const part of parts) Object.freeze(part);
    done = { result, stored: isSame(stored, next) ? stored : next };
    return done.stored;
  };
  const outcome = await row.commit(limitAttempts(options, apply));
  if (outcome !== "stored" || !done) throw sessionGone();
  return done;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

function refusePromise<State>(promise: PromiseLike<unknown>, options: StateOptions<State>): Error {
  // Its own failure, which nobody waits for, must not end the process.
  promise.then(undefined, () => undefined);
  const error = stateInvalid(
    "the function given to update returned a promise. It has to be synchronous, because it may run again: await first, then update",
  );
  guarded(options.onInvalid)(error);
  return error;
}

/** Brings a draft to what was stored for it, with the changes that were made since, from `ours` on. */
function rebase<State extends object>(
  draft: Draft<State>,
  ours: StoredState,
  stored: StateView,
): void {
  const next = Object.isFrozen(draft.state)
    ? undefined
    : mergeLater(draft.state, ours, stored.seen);
  // What cannot be merged stays in the draft, for `change` to meet it as any other conflict.
  draft.base = next ? stored : { stored: ours, seen: ours };
  if (next) bringState(draft.state, copyState(next));
}

function mergeLater(
  draft: object,
  ours: StoredState,
  stored: StoredState,
): StoredState | undefined {
  try {
    return mergeStates(ours, checkState(draft, Infinity), stored);
  } catch {
    // No JSON any more; `change` tells of it.
    return undefined;
  }
}
