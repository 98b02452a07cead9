import type { McpSessionError } from "@durable-mcp/core";
import { createStateEras, type StateEra, type StateHold } from "./state-eras.ts";
import { isInDoubt, stateConflict, stateTooLarge } from "./state-errors.ts";
import { createStateWrites, type SaveState } from "./state-writes.ts";
import type { StoredState } from "../records/stored-session.ts";

/** What two replicas made of one state, when both changed it. */
export interface StateConflict<State> {
  /** What both started from. */
  readonly base: State;
  /** What the call that is to be answered made of it. */
  readonly ours: State;
  /** What is stored by now. */
  readonly theirs: State;
}

/**
 * Merges the two. What it returns is stored in place of `theirs` (or meets the next conflict);
 * `undefined` means that it cannot: `theirs` stays, and the call is answered with an error.
 */
export type OnStateConflict<State> = (
  conflict: StateConflict<State>,
) => State | undefined | Promise<State | undefined>;

export interface SharedState<State> {
  /** What the author's code reads and changes. Another object after a change elsewhere. */
  readonly current: State;
  /** Takes over what was read from the store; `writers` are the names of its last writes. */
  refresh(state: StoredState, version: number, writers?: readonly string[]): void;
  /** From here to `release`, no state that was current is forgotten. */
  hold(): StateHold;
  /**
   * Saves every change made since `hold`.
   * @throws {McpSessionError} `STATE_CONFLICT`, `STATE_INVALID`, `SESSION_LOST` or `STORE_FAILED`;
   *   the changes are not stored then (with `STORE_FAILED` they may be)
   */
  settle(hold: StateHold): Promise<void>;
  release(hold: StateHold): void;
  /** Applies `change` to the newest state and saves; applies it again when somebody was faster. */
  update<Result>(change: (state: State) => Result): Promise<Result>;
}

export interface SharedStateOptions<State> {
  readonly state: StoredState;
  readonly version: number;
  readonly maxBytes: number;
  readonly save: SaveState;
  readonly onConflict?: OnStateConflict<State> | undefined;
  readonly onConflictSeen?: ((resolved: boolean) => void) | undefined;
}

/** Attempts to place one change before somebody else is faster each time. */
const maxAttempts = 20;

/**
 * The state that all calls of one live session share, as in any server that keeps it in a variable.
 *
 * When the stored state turns out to have changed elsewhere, it becomes a new object: a call that
 * began before may still hold the old one and change it after any number of awaits. So old objects
 * are kept as long as such a call runs, and a change to one of them is a conflict, never lost.
 */
export function createSharedState<State extends object>(
  options: SharedStateOptions<State>,
): SharedState<State> {
  const { save, maxBytes, onConflict, onConflictSeen } = options;
  const eras = createStateEras<State>(options.state, options.version);
  const writes = createStateWrites({ eras, save, state: options.state, version: options.version });
  let turn: Promise<unknown> = Promise.resolve();

  /** One save at a time. */
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = turn.then(task);
    turn = result.catch(() => {});
    return result;
  }

  function serialize(state: State): string {
    const text = JSON.stringify(state);
    const bytes = new TextEncoder().encode(text).byteLength;
    if (bytes <= maxBytes) return text;
    throw stateTooLarge(bytes, maxBytes);
  }

  async function commit(era: StateEra<State>): Promise<void> {
    if (era.failed) throw era.failed;
    if (JSON.stringify(era.object) === era.saved) return;
    try {
      await place(era);
    } catch (error) {
      // Not the store's failures: then the change may be stored, and stays to be saved again.
      if (isInDoubt(error)) throw error;
      era.failed = error as McpSessionError;
      if (era === eras.newest) writes.pushStored();
      throw error;
    }
  }

  /** Stores what was made of `era`, merged with what was made of its base elsewhere. */
  async function place(era: StateEra<State>): Promise<void> {
    const text = serialize(era.object);
    let next = text;
    let { version } = era;
    for (let attempt = 0; ; attempt++) {
      const result = await writes.put({ era, ours: text, text: next, ifVersion: version });
      if (era.failed) throw era.failed;
      if (result.outcome === "saved") {
        era.saved = text;
        if (next === text) era.version = result.version;
        else eras.push(JSON.parse(next) as State, result.version);
        return;
      }
      // What was in doubt turned out to be stored.
      if (result.outcome === "recognized" || era.saved === text) return;
      ({ version } = result);
      // Nobody else changed it: what is new since then can be put on top.
      if (era.version === version) continue;
      const theirs = JSON.stringify(result.state);
      const merged = attempt < maxAttempts ? await mergedState(era.saved, text, theirs) : undefined;
      onConflictSeen?.(merged !== undefined);
      if (merged === undefined) throw stateConflict();
      next = serialize(merged);
    }
  }

  async function mergedState(base: string, ours: string, theirs: string) {
    const [from, our, their] = [base, ours, theirs].map((text) => JSON.parse(text) as State);
    try {
      return await onConflict?.({ base: from!, ours: our!, theirs: their! });
    } catch (cause) {
      onConflictSeen?.(false);
      throw stateConflict(cause);
    }
  }

  return {
    get current() {
      return eras.newest.object;
    },
    refresh: (state, version, writers = []) => {
      if (eras.newest.version >= version) return;
      writes.see(state, version, writers);
      if (eras.newest.version < version) writes.pushStored();
    },
    hold: () => eras.hold(),
    settle: (hold) =>
      inTurn(async () => {
        for (const era of eras.since(hold)) await commit(era);
      }),
    release: (hold) => eras.release(hold),
    update: (change) =>
      inTurn(async () => {
        for (let attempt = 0; attempt < maxAttempts; attempt++) {
          const era = eras.newest;
          // On a copy: when somebody was faster, it must not have happened to what calls hold.
          const before = JSON.stringify(era.object);
          const next = JSON.parse(before) as State;
          const value = change(next);
          const text = serialize(next);
          const result = await writes.put({ era, ours: before, text, ifVersion: era.version });
          if (result.outcome === "saved") {
            // What calls had changed directly went along.
            era.saved = before;
            eras.push(next, result.version);
            return value;
          }
          if (result.outcome === "recognized") return value;
          if (eras.newest.version !== result.version) writes.pushStored();
        }
        throw stateConflict();
      }),
  };
}
