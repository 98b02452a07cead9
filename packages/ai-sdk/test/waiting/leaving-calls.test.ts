/** When a call is left to its server, and when it is stopped there. */

import { setTimeout } from "node:timers/promises";
import { createMemoryStore } from "@durable-mcp/core";
import type { WaitingLimits } from "@durable-mcp/core/waiting";
import { describe, expect, test, vi } from "vitest";
import { bothStores } from "../../../sessions/test/both-stores.ts";
import { about, asked, calls, resultsOf, startLab, use } from "../slow-lab.ts";
import { slowKinds } from "../../../sessions/test/slow-server.ts";
import { majors } from "../waiting-tool.ts";

const { ai } = majors[1]!;

describe.each(slowKinds)("a %s", (kind) => {
  const type = kind === "stream" ? "stream" : "task";
  const stops = kind === "stream" ? "POST notifications/cancelled" : "POST tasks/cancel";

  test("is left before its function ends", async () => {
    const { newSessions, list } = await startLab(kind, { waiting: { afterMs: 60_000 } });
    const endsAt = new Date(Date.now() + 3_000);
    await newSessions().run("chat", { ...use, endsAt }, (run) =>
      run.call("lab", "research", about),
    );
    expect(Date.now()).toBeLessThan(endsAt.getTime());
    expect(await list()).toMatchObject([{ type, state: "waiting" }]);
  });

  test("is left before its time limit is over", async () => {
    const { newSessions, list } = await startLab(kind, {
      waiting: { afterMs: 60_000 },
      connection: { timeouts: { callMs: 3_000 } },
    });
    await newSessions().run("chat", use, (run) => run.call("lab", "research", about));
    expect(await list()).toMatchObject([{ type, state: "waiting" }]);
  });

  test("is left when its step is ended, and its server is told nothing", async () => {
    const { slow, newSessions, list, step, due } = await startLab(kind, {
      waiting: { afterMs: 60_000 },
    });
    const over = new AbortController();
    const leave = async () => {
      await slow.begun();
      await setTimeout(200);
      over.abort();
    };
    const leaving = leave();
    await newSessions()
      .run("chat", { ...use, abortSignal: over.signal }, async (run) => {
        const { lab__research } = await run.tools();
        await lab__research!.execute!(about, { toolCallId: "call-0-0", messages: [] } as never);
      })
      .catch(() => undefined);
    await leaving;
    await vi.waitFor(async () => expect(await list()).toMatchObject([{ type, state: "waiting" }]));
    expect(slow.log).not.toContain(stops);
    expect(slow.log).not.toContain("DELETE");
    slow.finish();
    await due();
    // The step that is executed again finds it.
    const again = await step(ai, [asked], calls);
    expect(resultsOf(again.messages)).toContain("All about tea.");
    expect(slow.works).toHaveLength(1);
  });

  test("is stopped by the application's abortSignal, and waits nowhere", async () => {
    const { slow, newSessions, list } = await startLab(kind, { waiting: { afterMs: 60_000 } });
    const stop = new AbortController();
    const stopping = async () => {
      await slow.begun();
      await setTimeout(200);
      stop.abort();
    };
    void stopping();
    const stopped = newSessions().run("chat", use, (run) =>
      run.call("lab", "research", about, { abortSignal: stop.signal }),
    );
    await expect(stopped).rejects.toThrow(/abort/i);
    await vi.waitFor(() => expect(slow.log).toContain(stops));
    expect(await list()).toEqual([]);
  });

  test("with its record first is found by the step that is executed again", async () => {
    const { slow, step, list } = await startLab(kind, {
      waiting: { record: "first", afterMs: 10_000 },
    });
    void slow.begun().then(slow.finish);
    const once = await step(ai, [asked], calls);
    expect(resultsOf(once.messages)).toContain("All about tea.");
    expect(await list()).toEqual([]);
    const again = await step(ai, [asked], calls);
    expect(resultsOf(again.messages)).toBe(resultsOf(once.messages));
    expect(slow.works).toHaveLength(1);
    // The same call in another place is another call.
    void slow.begun(2).then(slow.finish);
    await step(ai, [...again.messages, asked], calls);
    expect(slow.works).toHaveLength(2);
  });

  test("whose result is too long for the store stays on its server until it is delivered", async () => {
    const { slow, step, newSessions, due } = await startLab(kind);
    const topic = "tea ".repeat(250_000);
    const turn = [{ tool: "lab__research", input: { topic: "long" } }];
    const first = await step(ai, [asked], turn);
    slow.works[0]!.year = topic;
    slow.finish();
    await due();
    expect(await newSessions().check("chat", use)).toMatchObject([{ state: "settled" }]);
    const last = await step(ai, first.messages, "Long.");
    expect(resultsOf(last.messages)).toContain(topic);
    // Messages that were not saved get it again.
    expect(resultsOf((await step(ai, first.messages, "Long.")).messages)).toContain(topic);
  });

  test.each(bothStores)("is found by an operator's program, in %s", async (_, wrap) => {
    const store = wrap(createMemoryStore());
    const onSettled = vi.fn<NonNullable<WaitingLimits["onSettled"]>>();
    const { slow, step, newSessions, due, list } = await startLab(kind, {
      store,
      waiting: { onSettled },
    });
    await step(ai, [asked], calls);
    const references = async (now?: () => number) => {
      const found: string[] = [];
      for await (const { reference } of newSessions(now).admin.due()) found.push(reference);
      return found;
    };
    const [call] = await list();
    expect(await references(() => call!.pollAfter! - 1)).toEqual([]);
    await due();
    const [reference] = await references();
    expect(reference).toMatch(/^([0-9a-f]{32}\.){2}[0-9a-f]{24}$/);
    const { admin } = newSessions();
    const [looked, other] = await Promise.all([admin.check(reference!), admin.check(reference!)]);
    expect([looked, other]).toContainEqual(
      expect.objectContaining({
        sessionId: "chat",
        ...use,
        call: expect.objectContaining({ type }),
      }),
    );
    expect(await references()).toEqual([]);
    slow.finish();
    await due();
    const [again] = await references();
    expect(again).toBe(reference);
    expect(await admin.check(again!)).toMatchObject({ call: { state: "settled" } });
    expect(onSettled).toHaveBeenCalledOnce();
    expect(onSettled.mock.calls[0]).toMatchObject([
      { state: "settled" },
      { sessionId: "chat", ...use },
    ]);
    expect(await admin.check(again!)).toBeUndefined();
    expect(await list()).toEqual([]);
  });
});
