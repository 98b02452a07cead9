import { isInDoubt, sessionGone, stateConflict } from "./state-errors.ts";
import { randomName } from "../base/session-id.ts";
import type { StateEra, StateEras } from "./state-eras.ts";
import { keptWriters, type SaveStateResult, type StoredState } from "../records/stored-session.ts";

/** A write; until the store has answered it may be stored or not. */
export interface StateWrite<State> {
  readonly era: StateEra<State>;
  /** What was made of the era's object itself, and what was to be stored for it. */
  readonly ours: string;
  readonly text: string;
  readonly ifVersion: number;
}

/** `writer` names the write, and is stored with it. */
export type SaveState = (
  state: StoredState,
  ifVersion: number,
  writer: string,
) => Promise<SaveStateResult>;

/**
 * Writes to the store, and what is stored as far as they tell. Each write has a name that is stored
 * with it, so that one whose answer was lost is recognized when it turns out to be stored.
 */
export function createStateWrites<State extends object>({
  eras,
  save,
  ...initial
}: {
  eras: StateEras<State>;
  save: SaveState;
  state: StoredState;
  version: number;
}) {
  /** Those that are in doubt, by their names. */
  const pending = new Map<string, StateWrite<State>>();
  let stored = { text: JSON.stringify(initial.state), version: initial.version };

  /** @throws {McpSessionError} `SESSION_LOST` when the session is gone, `STORE_FAILED` */
  async function put(write: StateWrite<State>) {
    const { text, ifVersion } = write;
    const { writer, isRepeated } = nameOf(write);
    const result = await save(JSON.parse(text) as StoredState, ifVersion, writer).catch(
      (error: unknown) => {
        if (!isInDoubt(error)) pending.delete(writer);
        throw error;
      },
    );
    if (result.outcome === "gone") throw sessionGone();
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
  function nameOf(write: StateWrite<State>): { writer: string; isRepeated: boolean } {
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
      if (eras.newest.version < stored.version) pushStored();
    }
  }

  /** Whether it is stored cannot be told any more: to merge it might store it twice. */
  function giveUp({ era, ours }: StateWrite<State>): void {
    if (ours === era.saved) return;
    era.failed ??= stateConflict();
    if (era === eras.newest) pushStored();
  }

  function pushStored(): void {
    eras.push(JSON.parse(stored.text) as State, stored.version);
  }

  return {
    put,
    /** What is stored becomes the current state. */
    pushStored,
    /** Takes note of what was read from the store. */
    see(state: StoredState, version: number, writers: readonly string[]): void {
      stored = { text: JSON.stringify(state), version };
      recognize(writers);
    },
  };
}
