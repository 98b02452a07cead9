import { detach } from "@durable-mcp/core/internal";
import type { Principal } from "@durable-mcp/core";
import { registryDisposed } from "../errors/connection-error.ts";
import type { NamedStart } from "../slots/named-slots.ts";
import type { SlotName } from "../slots/step-slot.ts";
import type { StepContext } from "./sessions-context.ts";
import { recordOwner } from "./slot-record.ts";
import { loadStoredSlot, type StoredSlot } from "./stored-slot.ts";
import { storeFailed } from "./stored-records.ts";

export type OpenedSlots = ReturnType<typeof createOpenedSlots>;

/** The slots that a step has opened, by the keys of their records; marked as used until `close`. */
export function createOpenedSlots(context: StepContext) {
  const { touchIntervalMs, pool, emit } = context;
  const slots = new Map<string, StoredSlot>();
  let isClosed = false;
  let timer: ReturnType<typeof setInterval> | undefined;

  const forAll = async (operation: "close" | "touch") => {
    const uses = [...slots.values()].map(async (stored) => {
      try {
        await stored[operation]();
      } catch (cause) {
        emit({ ...storeFailed(operation, cause), ...stored.of });
      }
    });
    await Promise.all(uses);
  };

  const opened = {
    hold(stored: StoredSlot) {
      slots.set(stored.key, stored);
      if (timer !== undefined) return;
      timer = setInterval(() => void forAll("touch"), touchIntervalMs);
      // A forgotten lease must not keep a Node process alive.
      detach(timer);
    },
    async load(slot: SlotName, use: NamedStart): Promise<StoredSlot> {
      const stored = await loadStoredSlot(context, slot, use);
      if (isClosed) {
        pool?.giveBack(stored.slot);
        throw registryDisposed(slot.connection);
      }
      opened.hold(stored);
      return stored;
    },
    find: (key: string) => slots.get(key),
    /** All of a principal. */
    of(principal: Principal): StoredSlot[] {
      const owner = recordOwner(principal);
      return [...slots.values()].filter((stored) => stored.owner === owner);
    },
    /** Nothing of it is written any more. */
    forget: (key: string) => void slots.delete(key),
    /** @throws the error of a session that could not be saved */
    throwIfNotSaved() {
      for (const { saveFailure } of slots.values()) {
        if (saveFailure !== undefined) throw saveFailure;
      }
    },
    /**
     * Writes the changes and waits until the sessions without a user are ended. A failure of the
     * store is reported as an event.
     */
    async close() {
      isClosed = true;
      clearInterval(timer);
      await Promise.all([...slots.values()].map((stored) => stored.settle()));
      await forAll("close");
    },
  };
  return opened;
}
