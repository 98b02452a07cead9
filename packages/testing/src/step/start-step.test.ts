import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import order, { type Order } from "../../test/order.ts";
import { startServer } from "../../test/start-server.ts";
import { createClock } from "../clock.ts";
import { matchers } from "../matchers/vitest.ts";
import { runStep, startStep } from "./start-step.ts";
import type { StepPoint } from "./step-points.ts";

expect.extend(matchers);
const module = new URL("../../test/order.ts", import.meta.url);

describe.each([
  ["a process of its own", module.href],
  ["this process", order],
])("a step in %s", (where, step) => {
  const isProcess = where !== "this process";

  test("gives its output as JSON, and what it has sent", async () => {
    const { url } = await startServer();
    const done = await runStep<Order, any>(step, { input: { url, item: "tea" } });
    expect(done.output.answer.content).toEqual([{ type: "text", text: "Ordered tea." }]);
    expect(done).toHaveSent({ calls: 1, handshakes: 0, requests: 1 });
    expect(done.sent).toEqual([
      ...[{ url, httpMethod: "POST", rpcMethod: "tools/call", tool: "order", status: 200 }],
    ]);
    expect(done.printed).toBe(isProcess ? "ordered tea\n" : "");
  });

  test.each<[StepPoint, boolean, boolean]>([
    ["before-load", false, false],
    ["after-load", false, false],
    ["before-send", false, false],
    ["after-send", true, false],
    ["after-answer", true, false],
    ["before-save", true, true],
    ["during-save", true, true],
    ["after-save", true, true],
  ])("is killed at its point: %s", async (at, isCarriedOut, isAnswered) => {
    const server = await startServer();
    const started = await startStep(step, { input: { url: server.url, item: "tea" } });
    expect(server).toHaveSent({ requests: 0 });
    const { printed } = await started.kill({ at });
    expect(server).toHaveDone(isCarriedOut ? { order: 1 } : {});
    expect(printed).toBe(isProcess && isAnswered ? "ordered tea\n" : "");
  });

  test("goes on when it was frozen", async () => {
    const server = await startServer();
    const started = await startStep<Order, any>(step, { input: { url: server.url, item: "tea" } });
    await started.freeze({ at: "before-send", on: "order" });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server).toHaveDone({});
    started.resume();
    const { output } = await started.finish();
    expect(output.answer.content[0].text).toBe("Ordered tea.");
    expect(server).toHaveDone({ order: 1 });
  });

  test("is killed when something else happens", async () => {
    const server = await startServer();
    const held = server.holdAnswer();
    const started = await startStep(step, { input: { url: server.url, item: "tea" } });
    await started.kill({ at: held.reached });
    held.release();
    expect(server).toHaveDone({ order: 1 });
  });

  test("has the clock of its test", async () => {
    const { url } = await startServer();
    const clock = createClock();
    const later = clock.advance({ days: 3, hours: 1, minutes: 1, ms: 1 });
    const { output } = await runStep<Order, any>(step, { input: { url, item: "tea" }, clock });
    expect(output.at).toBeGreaterThanOrEqual(later);
    expect(output.date >= later).toBe(isProcess);
    expect(later - Date.now()).toBeGreaterThan(3 * 86_400_000);
  });

  test("rejects with its error", async () => {
    const server = await startServer();
    server.refuse(503);
    const work = runStep(step, { input: { url: server.url, item: "tea" } });
    await expect(work).rejects.toMatchObject({ message: "HTTP 503", code: "REFUSED" });
  });

  test("says so when it ends before its point", async () => {
    const { url } = await startServer();
    const started = await startStep(step, { input: { url, item: "tea" } });
    await expect(started.kill({ at: "before-save", nth: 2 })).rejects.toThrow("The step ended");
  });
});

test("of two steps in this process each is stopped at its own point", async () => {
  const server = await startServer();
  const store = createMemoryStore();
  const [first, second] = await Promise.all(
    ["tea", "milk"].map((item) =>
      startStep((input: Order, context) => order(input, context, store), {
        input: { url: server.url, item },
      }),
    ),
  );
  await Promise.all([first!.kill({ at: "before-send" }), second!.finish()]);
  expect(server.ledger.map(({ input }) => input.item)).toEqual(["milk"]);
});
