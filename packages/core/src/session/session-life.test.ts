import { describe, expect, test } from "vitest";
import { sessionSnapshot } from "../../test/step.ts";
import {
  compareAndClear,
  discardSnapshot,
  enterOpened,
  enterStateless,
  isToReplace,
  leaveOpened,
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
