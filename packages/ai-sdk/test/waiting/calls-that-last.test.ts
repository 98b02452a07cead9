/** Calls that their server goes on with when the step has left them. */

import type { ElicitationRequest } from "@durable-mcp/core/waiting";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import type { UIMessage } from "ai";
import { describe, expect, test, vi } from "vitest";
import { closeServersAfterAll } from "../../../core/test/http-server.ts";
import { about, asked, calls, resultsOf, startLab, use } from "../slow-lab.ts";
import { slowKinds } from "../../../sessions/test/slow-server.ts";
import { bob } from "../step.ts";
import { takeAnswer } from "../ui-chunks.ts";
import { majors } from "../waiting-tool.ts";

// They wait, for most of their time.
closeServersAfterAll();
describe.concurrent.each(slowKinds)("a %s", (kind) => {
  test("that ends within the step is an ordinary result", async () => {
    const { slow, newSessions, list } = await startLab(kind, { waiting: { afterMs: 10_000 } });
    void slow.begun().then(slow.finish);
    const result = await newSessions().run("chat", use, (run) =>
      run.call("lab", "research", about),
    );
    expect(result.content).toEqual([{ type: "text", text: "All about tea." }]);
    // A result names its task there.
    expect(JSON.stringify(result)).not.toContain("taskId");
    expect(await list()).toEqual([]);
  });

  describe.each(majors)("with AI SDK $major", ({ ai }) => {
    test("goes on when its process ends, and its result lands under its own call", async () => {
      const { slow, step, list, due } = await startLab(kind);
      const first = await step(ai, [asked], calls);
      const type = kind === "stream" ? "stream" : "task";
      expect(await list()).toMatchObject([{ type, state: "waiting", requests: {} }]);
      expect(resultsOf(first.messages)).toContain("not done yet");
      const early = await step(ai, first.messages, "Nobody asks.");
      expect(early.asked).toEqual([]);
      slow.finish();
      await due();
      const last = await step(ai, early.messages, "Tea is fine.");
      expect(resultsOf(last.messages)).toContain("All about tea.");
      expect(resultsOf(last.messages)).not.toContain("not done yet");
      expect(slow.works).toHaveLength(1);
    });

    test("is filled in where a page has it, and the next answer is streamed", async () => {
      const { slow, newSessions, due } = await startLab(kind);
      const parts = [{ type: "text" as const, text: asked.content }];
      const page: UIMessage[] = [{ id: "1", role: "user", parts }];
      const respond = async (...turns: Turn[]) =>
        await newSessions().run("chat", use, async (run) => {
          const sent = JSON.parse(JSON.stringify(page)) as UIMessage[];
          const resumed = await run.waiting.resume(sent, { tools: await run.tools() });
          const { tools, messages: originalMessages } = resumed;
          const messages = await ai.convertToModelMessages(originalMessages, { tools });
          const result = ai.streamText({ model: scriptedModel(...turns), tools, messages });
          await takeAnswer(page, result.toUIMessageStreamResponse({ originalMessages }));
          return JSON.stringify(originalMessages);
        });
      await respond(calls);
      expect(JSON.stringify(page)).toContain("not done yet");
      slow.finish();
      await due();
      const filled = await respond("Tea is fine.");
      expect(filled).toContain("All about tea.");
      expect(filled).not.toContain("not done yet");
      expect(JSON.stringify(page)).toContain("Tea is fine.");
      expect(slow.works).toHaveLength(1);
    });

    test("may ask a person, whose answer another process brings", async () => {
      const { slow, step, list, due, newSessions } = await startLab(kind, {
        waiting: { afterMs: 1_500 },
      });
      void slow.begun().then(slow.ask);
      const first = await step(ai, [asked], calls);
      const [call] = await list();
      expect(call).toMatchObject({ type: "question", round: 1 });
      const [[key, { params }]] = Object.entries(call!.requests) as [[string, ElicitationRequest]];
      expect(params).toMatchObject({ message: "Which year?" });
      const yes = { [key]: { action: "accept", content: { year: "1773" } } } as const;
      const answered = await newSessions().answer("chat", call!.id, yes, use);
      slow.finish();
      expect(["task", "stream"]).toContain(answered.type);
      if (answered.state === "waiting") await due();
      const last = await step(ai, first.messages, "In that year.");
      expect(resultsOf(last.messages)).toContain("All about tea in 1773.");
    });
  });

  test("is looked at by check, never early, and only for its principal", async () => {
    const { slow, step, list, due, newSessions } = await startLab(kind);
    await step(majors[0]!.ai, [asked], calls);
    const before = slow.requests.length;
    const [call] = await list();
    const early = newSessions(() => call!.pollAfter! - 1);
    expect(await early.check("chat", use)).toEqual([]);
    await due();
    expect(await newSessions().check("chat", { principal: bob })).toEqual([]);
    expect(slow.requests).toHaveLength(before);
    const [looked] = await newSessions().check("chat", use);
    expect(looked).toMatchObject({ state: "waiting" });
    expect(looked!.pollAfter).toBeGreaterThan(call!.pollAfter!);
    slow.finish();
    await due();
    expect(await newSessions().check("chat", use)).toMatchObject([{ state: "settled" }]);
    expect(await list()).toEqual([]);
  });

  test("is over, perhaps carried out, when its server does not know it any more", async () => {
    const { slow, step, due } = await startLab(kind);
    const first = await step(majors[0]!.ai, [asked], calls);
    slow.restart();
    await due();
    const last = await step(majors[0]!.ai, first.messages, "What now?");
    expect(resultsOf(last.messages)).toMatch(/Whether the call was carried out is unknown/);
    expect(slow.works).toHaveLength(1);
  });

  test("is stopped at its server when it is withdrawn", async () => {
    const { slow, step, list, newSessions } = await startLab(kind);
    const first = await step(majors[0]!.ai, [asked], calls);
    const [call] = await list();
    expect(await newSessions().withdraw("chat", call!.id, use)).toMatchObject({
      state: "withdrawn",
    });
    const told = kind === "stream" ? "POST notifications/cancelled" : "POST tasks/cancel";
    await vi.waitFor(() => expect(slow.log).toContain(told));
    // The server may have done a part of it, or all.
    const last = await step(majors[0]!.ai, first.messages, "Well.");
    expect(resultsOf(last.messages)).toMatch(/How far its server had got is unknown/);
  });

  test("that cannot be looked at without a token goes on, and an event tells", async () => {
    const getToken = vi.fn<() => Promise<{ token: string }>>(async () => ({ token: "a-secret" }));
    const { step, due, events, newSessions } = await startLab(kind, {
      connection: { auth: { getToken } },
    });
    await step(majors[0]!.ai, [asked], calls);
    await due();
    getToken.mockRejectedValue(new Error("There is no request here."));
    expect(await newSessions().check("chat", use)).toMatchObject([{ state: "waiting" }]);
    const error = expect.objectContaining({ code: "CONNECTION_UNAVAILABLE" });
    expect(events).toContainEqual(expect.objectContaining({ type: "unavailable", error }));
  });
});

test("a tool that only runs as a task is not offered where calls may not wait for tasks", async () => {
  const { newSessions } = await startLab("task of 2025-11-25", { waiting: { for: ["stream"] } });
  const tools = await newSessions().run("chat", use, (run) => run.tools());
  expect(Object.keys(tools)).toEqual(["lab__quick"]);
});
