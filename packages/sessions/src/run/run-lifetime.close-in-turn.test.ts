import { describe, expect, test, vi } from "vitest";
import { closeInTurn } from "./run-lifetime.ts";

const never = () => new Promise<void>(() => undefined);

describe("closing in turn", () => {
  test("goes in reverse, one after another, and forgets what it closes", async () => {
    const order: string[] = [];
    const slow = (name: string) => async () => {
      order.push(`${name} closing`);
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
      order.push(`${name} closed`);
    };
    const opened = new Set([slow("a"), slow("b")]);
    await closeInTurn(opened, 1_000);
    expect(order).toEqual(["b closing", "b closed", "a closing", "a closed"]);
    expect(opened.size).toBe(0);
  });

  test("closes what is opened meanwhile", async () => {
    const order: string[] = [];
    const opened = new Set<() => Promise<void>>();
    const late = async () => void order.push("late");
    opened.add(async () => void order.push("a"));
    opened.add(async () => {
      order.push("b");
      opened.add(late);
    });
    await closeInTurn(opened, 1_000);
    expect(order).toEqual(["b", "late", "a"]);
  });

  test("one that hangs holds the others up for its turn, and all for their time", async () => {
    vi.useFakeTimers();
    try {
      const order: string[] = [];
      const opened = new Set([
        async () => void order.push("a"),
        () => (order.push("hangs"), never()),
      ]);
      const closing = closeInTurn(opened, 5_000).then(() => order.push("done"));
      await vi.advanceTimersByTimeAsync(999);
      expect(order).toEqual(["hangs"]);
      await vi.advanceTimersByTimeAsync(1);
      expect(order).toEqual(["hangs", "a"]);
      await vi.advanceTimersByTimeAsync(3_999);
      expect(order).toEqual(["hangs", "a"]);
      await vi.advanceTimersByTimeAsync(1);
      await closing;
      expect(order).toEqual(["hangs", "a", "done"]);
    } finally {
      vi.useRealTimers();
    }
  });
});
