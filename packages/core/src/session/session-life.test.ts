import { describe, expect, test } from "vitest";
import { sessionSnapshot } from "../../test/step.ts";
import {
  compareAndClear,
  discardSnapshot,
  enterLive,
  enterOpened,
  enterStateless,
  isToReplace,
  leaveOpened,
  liveSession,
  lostSession,
  openedSession,
  takeResumed,
  waitForLive,
} from "./session-life.ts";
import { createSessionSlot, slotState } from "./session-slot.ts";

const url = "http://127.0.0.1/mcp";
const a = sessionSnapshot(url, { sessionId: "a" });
const b = sessionSnapshot(url, { sessionId: "b" });

const lostState = () => {
  const state = slotState(createSessionSlot(a));
  compareAndClear(state, a);
  return state;
};

describe("the phases", () => {
  test.each([
    [undefined, "none"],
    [a, "live"],
    [{ version: 1, kind: "sessionless", url, lost: {} } as const, "none"],
    [{ version: 1, kind: "sessionless", url } as const, "none"],
    [{ version: 1, kind: "stateless", url, decidedAt: 1 } as const, "stateless"],
  ])("begin with what was saved, %#", (snapshot, name) => {
    expect(slotState(createSessionSlot(snapshot)).phase.name).toBe(name);
  });

  test("lead from lost over opened to live, and the loss is told once", () => {
    const slot = createSessionSlot(a);
    const state = slotState(slot);
    compareAndClear(state, a);
    enterOpened(state, b);
    expect([openedSession(state), liveSession(state), lostSession(state)]).toEqual([
      b,
      undefined,
      a,
    ]);
    enterLive(state, b, isToReplace(state));
    expect([openedSession(state), liveSession(state), lostSession(state)]).toEqual([
      undefined,
      b,
      undefined,
    ]);
    expect(slot.takeLossNotice()).toBe(true);
    expect(slot.takeLossNotice()).toBe(false);
  });

  test("lead from an opened session that is refused back to where they came from", () => {
    const state = lostState();
    const { phase } = state;
    enterOpened(state, b);
    leaveOpened(state);
    expect(state.phase).toBe(phase);
    leaveOpened(state);
    expect(state.phase).toBe(phase);
  });

  test("keep the loss when the server turns out to have no sessions any more", () => {
    const state = lostState();
    enterStateless(state, new URL(url), 5);
    expect(state.phase).toEqual({ name: "stateless", decidedAt: 5, lost: a });
    const verdict = { version: 1, kind: "stateless", url, decidedAt: 5 };
    expect(state.snapshot).toEqual({ ...verdict, replacesLost: true });
    expect(state.isLossUntold).toBe(true);
  });

  test("end with none when the snapshot is discarded, and its session counts as lost", () => {
    const slot = createSessionSlot(a);
    discardSnapshot(slotState(slot), new URL(url));
    expect(slotState(slot).phase).toEqual({ name: "none" });
    expect(slot.snapshot).toEqual({ version: 1, kind: "sessionless", url, lost: {} });
    expect(isToReplace(slotState(slot))).toBe(true);
  });

  test("have nothing to replace when the discarded snapshot had no session", () => {
    const slot = createSessionSlot({ version: 1, kind: "sessionless", url });
    discardSnapshot(slotState(slot), new URL(url));
    expect(slot).toMatchObject({ snapshot: undefined, changed: true });
  });
});

test("the session of an earlier step is taken as resumed once, and only while it is in use", () => {
  const state = slotState(createSessionSlot(a));
  expect(takeResumed(state)).toBe(a);
  expect(takeResumed(state)).toBeUndefined();
  expect(takeResumed(lostState())).toBeUndefined();
});

describe("compareAndClear", () => {
  test("gives up the session in use and remembers it as lost", () => {
    const slot = createSessionSlot(a);
    expect(compareAndClear(slotState(slot), { ...a })).toBe(true);
    expect(slot.snapshot).toEqual({ version: 1, kind: "sessionless", url: a.url, lost: {} });
    expect(slotState(slot).phase).toEqual({ name: "lost", lost: a });
  });

  test("leaves a session that has taken the place of the lost one", () => {
    const slot = createSessionSlot(b);
    expect(compareAndClear(slotState(slot), a)).toBe(false);
    expect(slot.snapshot).toBe(b);
    expect(liveSession(slotState(slot))).toBe(b);
    expect(lostSession(slotState(slot))).toBeUndefined();
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
    enterLive(state, b, false);
    expect(await waiting).toBe(b);
    expect(state.liveListeners.size).toBe(0);
  });
});
