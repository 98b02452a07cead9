import { describe, expect, test } from "vitest";
import { sessionSnapshot } from "../../test/step.ts";
import {
  compareAndClear,
  createSessionSlot,
  saveSnapshot,
  type SessionSlot,
  setLive,
  slotState,
  waitForLive,
} from "./session-slot.ts";

const url = "http://127.0.0.1/mcp";
const a = sessionSnapshot(url, { sessionId: "a" });
const b = sessionSnapshot(url, { sessionId: "b" });

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
  expect(() => slotState(foreign)).toThrow(TypeError);
});

describe("compareAndClear", () => {
  test("gives up the session in use and remembers it as lost", () => {
    const slot = createSessionSlot(a);
    expect(compareAndClear(slotState(slot), { ...a })).toBe(true);
    expect(slot.snapshot).toEqual({ version: 1, kind: "lost", url: a.url });
    expect(slotState(slot)).toMatchObject({ live: undefined, lost: a });
  });

  test("leaves a session that has taken the place of the lost one", () => {
    const slot = createSessionSlot(b);
    expect(compareAndClear(slotState(slot), a)).toBe(false);
    expect(slot.snapshot).toBe(b);
    expect(slotState(slot)).toMatchObject({ live: b, lost: undefined });
  });

  test("does nothing the second time", () => {
    const slot = createSessionSlot(a);
    compareAndClear(slotState(slot), a);
    expect(compareAndClear(slotState(slot), a)).toBe(false);
  });
});

describe("waitForLive", () => {
  test("gives the session in use at once", async () => {
    expect(await waitForLive(slotState(createSessionSlot(a)), undefined)).toBe(a);
  });

  test("waits for one, and lets go of a waiter that aborts", async () => {
    const state = slotState(createSessionSlot());
    const controller = new AbortController();
    const aborted = waitForLive(state, controller.signal);
    const waiting = waitForLive(state, undefined);
    controller.abort(new Error("left"));
    await expect(aborted).rejects.toThrow("left");
    setLive(state, b);
    expect(await waiting).toBe(b);
    expect(state.liveListeners.size).toBe(0);
  });
});
