import type { McpSessionError } from "@durable-mcp/core";
import { createQueue } from "../base/queue.ts";
import type { StoredState } from "../records/stored-session.ts";
import { createStateEras, type StateEra, type StateEras, type StateHold } from "./state-eras.ts";
import { isInDoubt, stateConflict, stateTooLarge } from "./state-errors.ts";
import { createStateWrites, type SaveState, type StateWrites } from "./state-writes.ts";

/** Two changes of one state, made at once. */
export interface StateConflict<State> {
  /** The state from which both calls started. */
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

export interface SharedState<State> {
  /** The object that the author's code reads and changes. A change elsewhere makes another object. */
  readonly current: State;
  /** Takes over a state read from the store; `writers` are the names of its last writes. */
  refresh(state: StoredState, version: number, writers?: readonly string[]): void;
  /** From here to `release`, no state that was current is forgotten. */
  hold(): StateHold;
  /**
   * Saves every change made since `hold`.
   * @throws {McpSessionError} `STATE_CONFLICT`, `STATE_INVALID` or `SESSION_LOST`: the changes are
   *   not stored. `STORE_FAILED`: they may be
   */
  settle(hold: StateHold): Promise<void>;
  release(hold: StateHold): void;
  /** Applies `change` to the newest state and saves; applies it again if another write was faster. */
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

interface StateParts<State extends object> extends SharedStateOptions<State> {
  readonly eras: StateEras<State>;
  readonly writes: StateWrites<State>;
}

/** Attempts to store one change while another write is faster each time. */
const maxAttempts = 20;

/**
 * The state that all calls of one live session share, as in any server that keeps it in a variable.
 *
 * When the stored state has changed elsewhere, the state becomes a new object: a call that began
 * before may still hold the old one and change it after any number of awaits. So old objects are
 * kept as long as such a call runs, and a change to one of them is a conflict, never lost.
 */
export function createSharedState<State extends object>(
  options: SharedStateOptions<State>,
): SharedState<State> {
  const eras = createStateEras<State>(options.state, options.version);
  const writes = createStateWrites(eras, options);
  const parts = { ...options, eras, writes };
  // One save at a time.
  const inTurn = createQueue();
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
        for (const era of eras.since(hold)) await commit(parts, era);
      }),
    release: (hold) => eras.release(hold),
    update: (change) => inTurn(() => update(parts, change)),
  };
}

async function commit<State extends object>(
  parts: StateParts<State>,
  era: StateEra<State>,
): Promise<void> {
  if (era.failed) throw era.failed;
  if (JSON.stringify(era.object) === era.saved) return;
  try {
    await store(parts, era);
  } catch (error) {
    // After a failure of the store the change may be stored, and stays to be saved again.
    if (isInDoubt(error)) throw error;
    era.failed = error as McpSessionError;
    if (era === parts.eras.newest) parts.writes.pushStored();
    throw error;
  }
}

/** Stores the changes made to `era`, merged with changes made elsewhere. */
async function store<State extends object>(
  parts: StateParts<State>,
  era: StateEra<State>,
): Promise<void> {
  const text = serialize(era.object, parts.maxBytes);
  let next = text;
  let { version } = era;
  for (let attempt = 0; ; attempt++) {
    const result = await parts.writes.put({ era, ours: text, text: next, ifVersion: version });
    if (era.failed) throw era.failed;
    if (result.outcome === "saved") {
      era.saved = text;
      if (next === text) era.version = result.version;
      else parts.eras.push(JSON.parse(next) as State, result.version);
      return;
    }
    // A write in doubt turned out to be stored.
    if (result.outcome === "recognized" || era.saved === text) return;
    ({ version } = result);
    // Nobody else changed it: the changes since then can be put on top.
    if (era.version === version) continue;
    const texts = [era.saved, text, JSON.stringify(result.state)] as const;
    const merged = attempt < maxAttempts ? await merge(parts, texts) : undefined;
    parts.onConflictSeen?.(merged !== undefined);
    if (merged === undefined) throw stateConflict();
    next = serialize(merged, parts.maxBytes);
  }
}

async function merge<State extends object>(
  { onConflict, onConflictSeen }: StateParts<State>,
  texts: readonly [base: string, ours: string, theirs: string],
): Promise<State | undefined> {
  const [base, ours, theirs] = texts.map((text) => JSON.parse(text) as State);
  try {
    return await onConflict?.({ base: base!, ours: ours!, theirs: theirs! });
  } catch (cause) {
    onConflictSeen?.(false);
    throw stateConflict(cause);
  }
}

async function update<State extends object, Result>(
  { eras, writes, maxBytes }: StateParts<State>,
  change: (state: State) => Result,
): Promise<Result> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const era = eras.newest;
    // On a copy: if another write was faster, the objects that calls hold must not have changed.
    const before = JSON.stringify(era.object);
    const next = JSON.parse(before) as State;
    const value = change(next);
    const text = serialize(next, maxBytes);
    const result = await writes.put({ era, ours: before, text, ifVersion: era.version });
    if (result.outcome === "saved") {
      // Changes that calls had made directly went along.
      era.saved = before;
      eras.push(next, result.version);
      return value;
    }
    if (result.outcome === "recognized") return value;
    if (eras.newest.version !== result.version) writes.pushStored();
  }
  throw stateConflict();
}

function serialize(state: unknown, maxBytes: number): string {
  const text = JSON.stringify(state);
  const bytes = new TextEncoder().encode(text).byteLength;
  if (bytes <= maxBytes) return text;
  throw stateTooLarge(bytes, maxBytes);
}
