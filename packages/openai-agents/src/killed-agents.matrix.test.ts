/** `kill -9` of an agent's process: what its calls have come to, and how often they ran. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createClock,
  createFaultyServer,
  runStep,
  startStep,
  type StepPoint,
} from "@durable-mcp/testing";
import { expect, onTestFinished, test } from "vitest";
import { type KilledInput, open } from "../test/killed-step.ts";
import { order, says, sure, yes } from "../test/shop-agent.ts";

const module = new URL("../test/killed-step.ts", import.meta.url);

interface Output {
  readonly saved: string;
  readonly results: readonly string[];
}

async function startShop() {
  const clock = createClock();
  const tools = { order: ({ item }: { item: string }) => `Ordered ${item}.` };
  const server = await createFaultyServer({ tools, now: clock.now });
  const folder = mkdtempSync(join(tmpdir(), "agents-"));
  onTestFinished(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const places = { url: server.url, path: join(folder, "sessions.db") };
  const step = async (input: Partial<KilledInput>) => {
    const turns = input.saved ? [says("Done.")] : [[order("tea")], says("Done.")];
    const all = { ...places, turns, ...input };
    return (await runStep<unknown, Output>(module, { input: all, clock })).output;
  };
  const kill = async (input: Partial<KilledInput>, at: StepPoint) => {
    const started = await startStep(module, {
      input: { ...places, turns: [says("Done.")], ...input },
      clock,
    });
    await started.kill({ at });
  };
  return { server, clock, places, step, kill };
}

const done = [JSON.stringify({ type: "text", text: "Ordered tea." })];

test.each(["before-save", "during-save", "after-save"] as const)(
  "an answered question, killed at %s: its result is there in the next process",
  async (at) => {
    const { server, places, step, kill } = await startShop();
    server.ask("order", [sure]);
    const { saved } = await step({});
    const user = open(places);
    await user.answer(yes);
    await user.close();
    await kill({ saved }, at);
    expect((await step({ saved })).results).toEqual(done);
    expect(server.ledger).toHaveLength(1);
  },
);

test.each([
  ["before-send", 0],
  ["after-send", 1],
  ["after-answer", 1],
] as const)("a call after its sign-in, killed %s: it ran at most once", async (at, runs) => {
  const { server, clock, places, step, kill } = await startShop();
  const user = open(places);
  onTestFinished(() => user.close());
  const session = "stateful";
  // The list of the tools is there, before the door is locked.
  await step({ session, turns: [says("Hello.")] });
  const { consent } = server.requireSignIn();
  const { saved } = await step({ session });
  await user.signIn(consent);
  await kill({ session, saved }, at);
  clock.advance({ minutes: 5 });
  const { results } = await step({ session, saved });
  expect(results).toEqual([expect.stringContaining("carried out is unknown")]);
  expect(server.ledger).toHaveLength(runs);
});

test.each(["after-send", "after-answer"] as const)(
  "a call that a person has approved, killed %s: it is not sent again",
  async (at) => {
    const { server, clock, step, kill } = await startShop();
    const { saved } = await step({ asks: true });
    expect(server.ledger).toEqual([]);
    await kill({ saved, asks: true, approved: "call-tea" }, at);
    clock.advance({ minutes: 5 });
    const { results } = await step({ saved, asks: true, approved: "call-tea" });
    expect(server.ledger).toHaveLength(1);
    expect(results).toEqual([expect.stringMatching(/Ordered tea|unknown/)]);
  },
);
