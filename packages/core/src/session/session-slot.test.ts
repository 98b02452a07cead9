import { expect, test } from "vitest";
import { sessionSnapshot } from "../../test/step.ts";
import { saveSnapshot } from "./session-life.ts";
import { createSessionSlot, type SessionSlot, slotState } from "./session-slot.ts";

const url = "http://127.0.0.1/mcp";
const a = sessionSnapshot(url, { sessionId: "a" });

test("starts with what was saved, unchanged", () => {
  expect(createSessionSlot()).toMatchObject({ snapshot: undefined, changed: false });
  expect(createSessionSlot(a)).toMatchObject({ snapshot: a, changed: false });
});

test("shows the snapshot, whether it changed and whether it is settled, and nothing else", () => {
  expect(Object.keys(createSessionSlot(a)).toSorted()).toEqual([
    "changed",
    "settle",
    "snapshot",
    "takeLossNotice",
    "unfinished",
  ]);
});

test("says that it changed when another snapshot is saved or the snapshot is dropped", () => {
  const slot = createSessionSlot(a);
  saveSnapshot(slotState(slot), a);
  expect(slot.changed).toBe(false);
  saveSnapshot(slotState(slot), undefined);
  expect(slot).toMatchObject({ snapshot: undefined, changed: true });
});

test("tells of the loss that another process replaced before it was adopted", () => {
  const slot = createSessionSlot();
  saveSnapshot(slotState(slot), { ...a, replacesLost: true });
  expect(slot.takeLossNotice()).toBe(true);
  expect(slot.takeLossNotice()).toBe(false);
  expect(slot.snapshot).toEqual(a);
});

test("refuses a slot that it did not make", () => {
  const foreign: SessionSlot = {
    snapshot: undefined,
    changed: false,
    unfinished: undefined,
    takeLossNotice: () => false,
    settle: () => Promise.resolve(),
  };
  expect(() => slotState(foreign)).toThrow(/^slot must come from createSessionSlot/);
});
