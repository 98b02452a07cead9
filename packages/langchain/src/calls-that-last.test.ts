import { setTimeout } from "node:timers/promises";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { slowKinds, startSlowServer } from "../../ai-sdk/test/slow-server.ts";
import { alice } from "../../ai-sdk/test/step.ts";
import { createToldAgent, questions, results } from "../test/shop.ts";

const research = { name: "lab__research", args: { topic: "tea" }, id: "call-tea" };

test.each(slowKinds)("a graph is resumed until its server has finished: a %s", async (kind) => {
  const lab = await startSlowServer(kind);
  const store = createMemoryStore();
  const step = async <RESULT>(work: () => Promise<RESULT>): Promise<RESULT> => {
    const connection = defineMcpClientConnection({
      ...{ url: lab.url, description: "A lab." },
      session: kind === "task of 2026-07-28" ? "stateless" : "stateful",
      waiting: { afterMs: 150 },
    });
    const sessions = createDurableSessions({ connections: { lab: connection }, store });
    return await sessions.run("chat", { principal: alice }, work);
  };
  const { start, resume } = createToldAgent(step, [[research]]);
  const type = kind === "stream" ? "stream" : "task";
  const [asked] = questions(await start());
  expect(asked).toMatchObject({ type, state: "waiting", toolCallId: "call-tea" });
  // Whatever it is resumed with, the server says how the call is.
  const [again] = questions(await resume(true));
  expect(again).toMatchObject({ type, state: "waiting" });
  lab.finish();
  await setTimeout(Math.max(0, again!.pollAfter! - Date.now() + 20));
  const done = await resume(true);
  expect(questions(done)).toEqual([]);
  expect(results(done)).toEqual(["All about tea."]);
  expect(lab.works).toHaveLength(1);
});
