import type { McpSessionError } from "@durable-mcp/core";
import type { StoredState } from "../records/stored-session.ts";

/** One object that was current for a while, and that calls may still change. */
export interface StateEra<State> {
  readonly object: State;
  /** The JSON of the object as it is stored, and the version under which it is stored. */
  saved: string;
  version: number;
  /** Why changes of this era were lost; every call that may have made them is told. */
  failed?: McpSessionError;
}

/** A call's hold on the states that it may have changed. */
export interface StateHold {
  readonly from: number;
}

/** The current state, and those before it that a call holds or that have unsaved changes. */
export interface StateEras<State> {
  readonly newest: StateEra<State>;
  /** Begins an era with a copy of the state. */
  push(state: StoredState | State, version: number): StateEra<State>;
  /** The eras from a hold on. */
  since(hold: StateHold): StateEra<State>[];
  /** From here to `release`, no state that was current is forgotten. */
  hold(): StateHold;
  release(hold: StateHold): void;
}

export function createStateEras<State extends object>(
  state: StoredState,
  version: number,
): StateEras<State> {
  const eras = new Map<number, StateEra<State>>();
  const holds = new Set<StateHold>();
  let last = -1;

  function push(next: StoredState | State, nextVersion: number): StateEra<State> {
    const saved = JSON.stringify(next);
    const era = { object: JSON.parse(saved) as State, saved, version: nextVersion };
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

  push(state, version);
  return {
    get newest() {
      return eras.get(last)!;
    },
    push,
    since: ({ from }) => [...eras].flatMap(([index, era]) => (index >= from ? [era] : [])),
    hold: () => {
      const hold = { from: last };
      holds.add(hold);
      return hold;
    },
    release: (hold) => {
      holds.delete(hold);
      prune();
    },
  };
}
