import { randomName } from "../base/session-id.ts";
import { keptWriters, type SaveStateResult, type StoredState } from "../records/stored-session.ts";
import type { StateEra, StateEras } from "./state-eras.ts";
import { isInDoubt, sessionGone, stateConflict } from "./state-errors.ts";

/** A write; until the store has answered it may be stored or not. */
interface StateWrite<State> {
  readonly era: StateEra<State>;
  /** The JSON of the era's object itself, and the JSON to be stored for it. */
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
 * Writes the state, and remembers the stored state that the answers tell of. Each write has a name
 * that is stored with it: a write whose answer was lost is recognized by its name when it turns out to be stored.
 */
// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createStateWrites<State extends object>(
  eras: StateEras<State>,
  initial: { readonly save: SaveState; readonly state: StoredState; readonly version: number },
) {
  /** Writes in doubt, by their names. */
  const pending = new Map<string, StateWrite<State>>();
  let stored = { text: JSON.stringify(initial.state), version: initial.version };

  /** The same name for a repeated write, so that attempts do not pile up while a store is down. */
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

  /** Takes note of a stored state, and of the writes in doubt among its writers. */
  function see(state: StoredState, version: number, writers: readonly string[]): void {
    stored = { text: JSON.stringify(state), version };
    for (const writer of writers) {
      const write = pending.get(writer);
      if (!write) continue;
      pending.delete(writer);
      write.era.saved = write.ours;
      if (write.text === write.ours) write.era.version = write.ifVersion + 1;
      if (eras.newest.version < version) pushStored();
    }
  }

  /** Nobody can tell any more whether the write is stored: a merge might store it twice. */
  function giveUp({ era, ours }: StateWrite<State>): void {
    if (ours === era.saved) return;
    era.failed ??= stateConflict();
    if (era === eras.newest) pushStored();
  }

  /** Makes the stored state the current one. */
  function pushStored(): void {
    eras.push(JSON.parse(stored.text) as State, stored.version);
  }

  /** @throws {McpSessionError} `SESSION_LOST` when the session is gone, `STORE_FAILED` */
  async function put(write: StateWrite<State>) {
    const { text, ifVersion } = write;
    const { writer, isRepeated } = nameOf(write);
    const result = await initial
      .save(JSON.parse(text) as StoredState, ifVersion, writer)
      .catch((error: unknown) => {
        if (!isInDoubt(error)) pending.delete(writer);
        throw error;
      });
    if (result.outcome === "gone") throw sessionGone();
    if (result.outcome === "saved") {
      // The writes in doubt are not stored, and will be refused if they arrive yet.
      pending.clear();
      stored = { text, version: result.version };
      return result;
    }
    see(result.state, result.version, result.writers);
    if (result.writers.includes(writer)) {
      pending.clear();
      return { outcome: "recognized" as const };
    }
    // A write that is sent for the first time is in no doubt.
    if (!isRepeated) pending.delete(writer);
    for (const inDoubt of pending.values()) {
      if (result.version - inDoubt.ifVersion > keptWriters) giveUp(inDoubt);
    }
    pending.clear();
    return result;
  }

  return { put, pushStored, see };
}

export type StateWrites<State extends object> = ReturnType<typeof createStateWrites<State>>;
