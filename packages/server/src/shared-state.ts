import { McpSessionError } from "@durable-mcp/core";
import { randomName } from "./session-id.ts";
import { keptWriters, type SaveStateResult, type StoredState } from "./stored-session.ts";

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

/** A call's hold on the states that it may have changed. */
export interface StateHold {
  readonly from: number;
}

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
  /** `writer` names the write, and is stored with it. */
  readonly save: (
    state: StoredState,
    ifVersion: number,
    writer: string,
  ) => Promise<SaveStateResult>;
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
  interface Era {
    readonly object: State;
    /** What is stored of it, and under which version. */
    saved: string;
    version: number;
    /** Why changes of this era were dropped; every call that may have made them is told. */
    failed?: McpSessionError;
  }
  /** A write that the store has not answered: it may be stored all the same. */
  interface PendingWrite {
    readonly era: Era;
    /** What was made of the era's object itself, and what was to be stored for it. */
    readonly ours: string;
    readonly text: string;
    readonly ifVersion: number;
  }
  const eras = new Map<number, Era>();
  /** By the names of the writes. */
  const pending = new Map<string, PendingWrite>();
  const holds = new Set<StateHold>();
  let last = -1;
  let turn: Promise<unknown> = Promise.resolve();
  let stored = { text: JSON.stringify(options.state), version: options.version };
  push(options.state, options.version);

  function push(state: StoredState | State, version: number): Era {
    const saved = JSON.stringify(state);
    const era = { object: JSON.parse(saved) as State, saved, version };
    eras.set(++last, era);
    prune();
    return era;
  }

  function prune(): void {
    const oldest = Math.min(last, ...[...holds].map((hold) => hold.from));
    for (const [index, era] of eras) {
      if (index >= oldest) break;
      // A change that no call made (a timer's, say) is saved, or conflicts, with the next answer.
      if (era.failed || JSON.stringify(era.object) === era.saved) eras.delete(index);
    }
  }

  const newest = () => eras.get(last)!;

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
    throw new McpSessionError(
      "STATE_INVALID",
      `The state of the session would take ${bytes} bytes, more than the ${maxBytes} that limits.stateBytes allows. The change is not stored.`,
      { data: { field: "state" } },
    );
  }

  async function commit(era: Era): Promise<void> {
    if (era.failed) throw era.failed;
    if (JSON.stringify(era.object) === era.saved) return;
    try {
      await place(era);
    } catch (error) {
      // Not the store's failures: then the change may be stored, and stays to be saved again.
      if (isInDoubt(error)) throw error;
      era.failed = error as McpSessionError;
      if (era === newest()) pushStored();
      throw error;
    }
  }

  /** Stores what was made of `era`, merged with what was made of its base elsewhere. */
  async function place(era: Era): Promise<void> {
    const text = serialize(era.object);
    let next = text;
    let { version } = era;
    for (let attempt = 0; ; attempt++) {
      const result = await put({ era, ours: text, text: next, ifVersion: version });
      if (era.failed) throw era.failed;
      if (result.outcome === "saved") {
        era.saved = text;
        if (next === text) era.version = result.version;
        else push(JSON.parse(next) as State, result.version);
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
      if (merged === undefined) throw conflictError();
      next = serialize(merged);
    }
  }

  async function mergedState(base: string, ours: string, theirs: string) {
    const [from, our, their] = [base, ours, theirs].map((text) => JSON.parse(text) as State);
    try {
      return await onConflict?.({ base: from!, ours: our!, theirs: their! });
    } catch (cause) {
      onConflictSeen?.(false);
      throw conflictError(cause);
    }
  }

  /** @throws {McpSessionError} `SESSION_LOST` when the session is gone, `STORE_FAILED` */
  async function put(write: PendingWrite) {
    const { text, ifVersion } = write;
    const { writer, isRepeated } = nameOf(write);
    const result = await save(JSON.parse(text) as StoredState, ifVersion, writer).catch(
      (error: unknown) => {
        if (!isInDoubt(error)) pending.delete(writer);
        throw error;
      },
    );
    if (result.outcome === "gone") throw goneError();
    if (result.outcome === "saved") {
      // What was in doubt is not stored, and will be refused should it arrive yet.
      pending.clear();
      stored = { text, version: result.version };
      return result;
    }
    stored = { text: JSON.stringify(result.state), version: result.version };
    recognize(result.writers);
    if (result.writers.includes(writer)) {
      pending.clear();
      return { outcome: "recognized" as const };
    }
    // One that is sent for the first time is in no doubt.
    if (!isRepeated) pending.delete(writer);
    for (const inDoubt of pending.values()) {
      if (result.version - inDoubt.ifVersion > keptWriters) giveUp(inDoubt);
    }
    pending.clear();
    return result;
  }

  /** The same write under the same name, so that attempts do not pile up while a store is down. */
  function nameOf(write: PendingWrite): { writer: string; isRepeated: boolean } {
    for (const [writer, { era, text, ours, ifVersion }] of pending) {
      const isSame = era === write.era && text === write.text && ours === write.ours;
      if (isSame && ifVersion === write.ifVersion) return { writer, isRepeated: true };
    }
    const [oldest] = pending;
    if (oldest && pending.size >= keptWriters) {
      giveUp(oldest[1]);
      pending.delete(oldest[0]);
    }
    const writer = randomName();
    pending.set(writer, write);
    return { writer, isRepeated: false };
  }

  /** Takes note of those writes in doubt that are among the stored ones. */
  function recognize(writers: readonly string[]): void {
    for (const writer of writers) {
      const write = pending.get(writer);
      if (!write) continue;
      pending.delete(writer);
      write.era.saved = write.ours;
      if (write.text === write.ours) write.era.version = write.ifVersion + 1;
      if (newest().version < stored.version) pushStored();
    }
  }

  /** Whether it is stored cannot be told any more: to merge it might store it twice. */
  function giveUp({ era, ours }: PendingWrite): void {
    if (ours === era.saved) return;
    era.failed ??= conflictError();
    if (era === newest()) pushStored();
  }

  function pushStored(): void {
    push(JSON.parse(stored.text) as State, stored.version);
  }

  return {
    get current() {
      return newest().object;
    },
    refresh: (state, version, writers = []) => {
      if (newest().version >= version) return;
      stored = { text: JSON.stringify(state), version };
      recognize(writers);
      if (newest().version < version) pushStored();
    },
    hold: () => {
      const hold = { from: last };
      holds.add(hold);
      return hold;
    },
    settle: (hold) =>
      inTurn(async () => {
        for (const [index, era] of [...eras]) if (index >= hold.from) await commit(era);
      }),
    release: (hold) => {
      holds.delete(hold);
      prune();
    },
    update: (change) =>
      inTurn(async () => {
        for (let attempt = 0; attempt < maxAttempts; attempt++) {
          const era = newest();
          // On a copy: when somebody was faster, it must not have happened to what calls hold.
          const before = JSON.stringify(era.object);
          const next = JSON.parse(before) as State;
          const value = change(next);
          const text = serialize(next);
          const result = await put({ era, ours: before, text, ifVersion: era.version });
          if (result.outcome === "saved") {
            // What calls had changed directly went along.
            era.saved = before;
            push(next, result.version);
            return value;
          }
          if (result.outcome === "recognized") return value;
          if (newest().version !== result.version) pushStored();
        }
        throw conflictError();
      }),
  };
}

/** Whether what was to be stored may be stored all the same. */
function isInDoubt(error: unknown): boolean {
  return !McpSessionError.isInstance(error) || error.code === "STORE_FAILED";
}

function conflictError(cause?: unknown): McpSessionError {
  return new McpSessionError(
    "STATE_CONFLICT",
    "Another call changed the state of the session at the same time. What this call changed is not stored; call again.",
    { data: { field: "state" }, cause },
  );
}

function goneError(): McpSessionError {
  return new McpSessionError(
    "SESSION_LOST",
    "The session ended while the call ran. What the call changed in its state is not stored.",
    { data: { field: "state" } },
  );
}
