import { guarded } from "@durable-mcp/core/internal";
import { checkState, copyState } from "./json-state.ts";
import { isSame, mergeStates } from "./merge-states.ts";
import { stateConflict } from "./state-errors.ts";
import type { StoredState } from "./stored-state.ts";

/** Two changes of one state, made at once, that cannot be put together by their paths. */
export interface StateConflict<State> {
  /** The state from which both changes started. */
  readonly base: State;
  /** The state after the call that is to be answered. */
  readonly ours: State;
  /** The stored state. */
  readonly theirs: State;
}

/**
 * Merges the two. The result is stored in place of `theirs`, or meets the next conflict. With
 * `undefined` they cannot be merged: `theirs` stays, and the call is answered with an error.
 */
export type OnStateConflict<State> = (
  conflict: StateConflict<State>,
) => State | undefined | Promise<State | undefined>;

export interface StateOptions<State> {
  /** The most bytes of JSON that a state may have. */
  readonly maxBytes: number;
  /** Makes a state of what an earlier release may have stored; gets those of this release, too. */
  readonly migrate?: ((stored: StoredState) => State) | undefined;
  readonly onConflict?: OnStateConflict<State> | undefined;
  /** Called for each conflict; `resolved` says whether `onConflict` merged it. */
  readonly onConflictSeen?: ((resolved: boolean) => void) | undefined;
  /** Called with each `STATE_INVALID`. */
  readonly onInvalid?: ((error: unknown) => void) | undefined;
}

/** A stored state, and how the author's code sees it. */
export interface StateView {
  readonly stored: StoredState;
  readonly seen: StoredState;
}

export function view<State>(stored: StoredState, options: StateOptions<State>): StateView {
  const { migrate } = options;
  if (!migrate) return { stored, seen: stored };
  // What is too large by now can be read all the same.
  const seen = checked(migrate(copyState(stored)), { ...options, maxBytes: Infinity }, "migrate()");
  return { stored, seen };
}

export function checked<State>(
  state: unknown,
  options: StateOptions<State>,
  root?: string,
): StoredState {
  try {
    return checkState(state, options.maxBytes, root);
  } catch (error) {
    guarded(options.onInvalid)(error);
    throw error;
  }
}

/** Puts the change from `base` to `ours` on top of the newest stored state. */
export function combine<State>(
  stored: StoredState,
  base: StateView,
  ours: StoredState,
  options: StateOptions<State>,
): StoredState | Promise<StoredState> {
  if (isSame(stored, base.stored)) return ours;
  const theirs = view(stored, options).seen;
  const merged = mergeStates(base.seen, ours, theirs);
  return merged ? checked(merged, options) : resolve([base.seen, ours, theirs], options);
}

/** Asks the author's `onConflict`. */
async function resolve<State>(
  states: readonly StoredState[],
  options: StateOptions<State>,
): Promise<StoredState> {
  const [base, ours, theirs] = states.map((state) => copyState(state) as State);
  let resolved: StoredState | undefined;
  try {
    const merged = await askAuthor({ base: base!, ours: ours!, theirs: theirs! }, options);
    return (resolved = checked(merged, options, "onStateConflict()"));
  } finally {
    guarded(options.onConflictSeen)(resolved !== undefined);
  }
}

/** @throws {McpSessionError} `STATE_CONFLICT` */
async function askAuthor<State>(
  conflict: StateConflict<State>,
  { onConflict }: StateOptions<State>,
): Promise<State> {
  let cause: unknown;
  try {
    const merged = await onConflict?.(conflict);
    if (merged !== undefined) return merged;
  } catch (error) {
    cause = error;
  }
  throw stateConflict(cause);
}
