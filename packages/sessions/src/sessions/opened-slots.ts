import { detach, within } from "@durable-mcp/core/internal";
import { attemptInStore } from "@durable-mcp/core/store-driver";
import type { Principal } from "@durable-mcp/core";
import { runOver } from "../events/connection-error.ts";
import type { NamedStart } from "../records/named-slots.ts";
import type { SlotName } from "../records/step-slot.ts";
import type { StepContext } from "./sessions-context.ts";
import { recordOwner } from "../records/slot-record.ts";
import { loadStoredSlot, type StoredSlot } from "./stored-slot.ts";
import { storeFailed } from "../records/stored-records.ts";

export type OpenedSlots = ReturnType<typeof createOpenedSlots>;

/**
 * The slots that a step has opened, by the keys of their records; marked as used until `close`.
 *
 * @param own those of its connections
 */
export function createOpenedSlots(context: StepContext, own: Iterable<StoredSlot>) {
  const { touchIntervalMs, carried, emit, now } = context;
  const slots = new Map<string, StoredSlot>();
  let isBegun = false;
  let isClosed = false;
  let endedAt: number | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;

  const forAll = async (operation: "close" | "touch", use: UseOfSlot) => {
    const uses = [...slots.values()].map(async (stored) => {
      try {
        await use(stored);
      } catch (cause) {
        emit({ ...storeFailed(operation, cause), ...stored.of });
      }
    });
    await Promise.all(uses);
  };

  const opened = {
    hold(stored: StoredSlot) {
      slots.set(stored.key, stored);
      if (isBegun) stored.endUnused();
      if (timer !== undefined || carried !== undefined) return;
      timer = setInterval(() => void forAll("touch", (each) => each.touch()), touchIntervalMs);
      // A forgotten run must not keep a Node process alive.
      detach(timer);
    },
    async load(slot: SlotName, use: NamedStart): Promise<StoredSlot> {
      const stored = await loadStoredSlot(context, slot, use);
      if (isClosed) throw runOver(slot.connection);
      opened.hold(stored);
      return stored;
    },
    /** Notes the first use of the step. Nothing is sent before. */
    begin() {
      isBegun = true;
      for (const stored of slots.values()) stored.endUnused();
    },
    /** Notes the end of the step. */
    end: () => void (endedAt ??= now()),
    find: (key: string) => slots.get(key),
    /** All of a principal. */
    of(principal: Principal): StoredSlot[] {
      const owner = recordOwner(principal);
      return [...slots.values()].filter((stored) => stored.owner === owner);
    },
    /** Nothing of it is written any more. */
    forget: (key: string) => void slots.delete(key),
    /**
     * Writes the changes, while the sessions without a user are ended, and waits for both. A failure of
     * the store is reported as an event.
     *
     * @param timeoutMs for both together, in milliseconds
     */
    async close(timeoutMs: number) {
      isClosed = true;
      clearInterval(timer);
      const writing = forAll("close", (stored) =>
        attemptInStore("application's", "close of a session", () => stored.close(), timeoutMs),
      );
      const endings = [...slots.values()].map((stored) => stored.settle());
      await within(timeoutMs, Promise.all([writing, ...endings]));
    },
    /** What `close` would write into a state now. */
    unsaved() {
      return [...slots.values()].flatMap((stored) => {
        const next = stored.unsaved(endedAt ?? now());
        if (next === "leave") return [];
        return [[stored.key, next === "delete" ? undefined : next] as const];
      });
    },
  };
  for (const stored of own) opened.hold(stored);
  return opened;
}

type UseOfSlot = (stored: StoredSlot) => Promise<unknown>;
