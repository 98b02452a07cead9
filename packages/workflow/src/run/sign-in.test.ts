import { expect, test } from "vitest";
import { resumeHook } from "workflow/api";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import {
  addNote,
  startLockedNotebook,
  startLockedShop,
} from "../../../ai-sdk/test/sign-in-application.ts";
import { sealed, setStepSettings, stored } from "../../test/app/connections.ts";
import { alice, bob, textOf, useTestApp } from "../../test/test-app.ts";

const app = useTestApp();
const owner = { principal: alice };

const door = {
  ...{ type: "sign-in", connection: "work", server: expect.any(String) as unknown },
  ...{ startUrl: "https://app.test/oauth/start", askedAt: expect.any(Number) as unknown },
};

/** A run that has opened the connection, and goes on when the user is signed out. */
async function beginLocked(turns: readonly any[], isStored: boolean) {
  const work = await startLockedNotebook();
  setStepSettings({ work: work.connection() });
  await work.signIn();
  const token = crypto.randomUUID();
  const run = await app.beginScripted({
    ...{ connections: ["work"], sessionId: token, isStored },
    turns: [{ hook: token }, ...turns],
  });
  const { runId } = run;
  const steps = isStored ? stored : sealed;
  const hooks = async () => (await app.world.world.hooks.list({ runId })).data;
  await expect.poll(hooks).toHaveLength(1);
  work.signIns.revokeAll();
  work.take();
  await resumeHook(token, {});
  return {
    ...{ work, run, runId, steps },
    waiting: async (count: number) => {
      await expect.poll(async () => callsOf(await steps.waiting(runId, owner))).toHaveLength(count);
      return await steps.waiting(runId, owner);
    },
    /** The results of the turn after the hook. */
    results: async () => (await run.returnValue).results[1]!,
  };
}

const call = (text: string) => ({ ...addNote(text), toolCallId: `of ${text}` });

test.each([
  ["sealed", false],
  ["with a store", true],
])(
  "a call whose user has to sign in sleeps until then, and is carried out once, %s",
  async (_, isStored) => {
    const { work, runId, steps, waiting, results } = await beginLocked([[call("milk")]], isStored);
    const [first, parked] = await waiting(1);
    expect(first).toMatchObject({ ...door, scopes: [] });
    expect(parked).toMatchObject({ tool: "add_note", state: "waiting", round: 0, requests: {} });
    expect(await steps.waiting(runId, { principal: bob })).toEqual([]);
    const { id } = callsOf([parked!])[0]!;
    await expect(steps.answer(runId, id, {}, owner)).rejects.toMatchObject({
      code: "NOT_WAITING",
      message: expect.stringContaining("at https://app.test/oauth/start"),
    });
    // Nobody has signed in.
    await steps.wake(runId, owner);
    await steps.wake(runId, { principal: bob });
    expect(work.take().sent).toEqual(["POST tools/call"]);

    await work.signIn();
    expect(await waiting(1)).toEqual([parked]);
    await Promise.all([steps.wake(runId, owner), steps.wake(runId, owner)]);
    expect((await results()).map(textOf)).toEqual(["1 notes"]);
    expect(work.take().sent).toEqual(["POST tools/call"]);
    expect(work.server.sessionIds).toHaveLength(1);
    expect(await steps.waiting(runId, owner)).toEqual([]);
    await steps.wake(runId, owner);
  },
);

test("a call goes on in another session if the server has lost the one from before the sign-in", async () => {
  for (const isStored of [false, true]) {
    const turns = [[call("tea"), call("milk")], [addNote("bread")]];
    const { work, run, runId, steps, waiting } = await beginLocked(turns, isStored);
    await waiting(2);
    work.server.forgetSessions();
    await work.signIn();
    await steps.wake(runId, owner);
    const told = (await run.returnValue).results.slice(1).flat().map(textOf);
    const last = told.map((text) => text.split("\n").at(-1));
    expect(new Set(last)).toEqual(new Set(["1 notes", "2 notes", "3 notes"]));
    expect(told.filter((text) => text.includes("had lost the session"))).toHaveLength(1);
    expect(work.server.sessionIds).toHaveLength(2);
  }
});

test("a call that is taken back fails for the model, and the others wait on", async () => {
  const { work, runId, steps, waiting, results } = await beginLocked(
    [[call("tea"), call("milk")]],
    false,
  );
  const calls = callsOf(await waiting(2));
  await steps.withdraw(runId, calls.find(({ toolCallId }) => toolCallId === "of tea")!.id, owner);
  await waiting(1);
  await work.signIn();
  await steps.wake(runId, owner);
  const [tea, milk] = await results();
  expect(tea).toEqual({
    code: "NOT_WAITING",
    message: expect.stringContaining("has taken the call back"),
  });
  expect(textOf(milk)).toBe("1 notes");
});

test("a server without sessions: a call that needs a scope waits, and then its question", async () => {
  const work = await startLockedShop({ waiting: true });
  setStepSettings({ work: work.connection() });
  await work.signIn();
  const order = { tool: "work__order", input: { item: "tea" }, toolCallId: "order" };
  const run = await app.beginScripted({ connections: ["work"], turns: [[order]] });
  const { runId } = run;
  await expect.poll(() => sealed.waiting(runId, owner)).toHaveLength(2);
  const [first] = await sealed.waiting(runId, owner);
  expect(first).toMatchObject({ ...door, scopes: ["orders.write"] });
  await work.signIn();
  await sealed.wake(runId, owner);
  await expect.poll(() => sealed.waiting(runId, owner)).toMatchObject([{ round: 1 }]);
  const [asked] = callsOf(await sealed.waiting(runId, owner));
  const responses = { confirm: { action: "accept", content: { ok: true } } } as const;
  await sealed.answer(runId, asked!.id, responses, owner);
  expect((await run.returnValue).results[0]!.map(textOf)).toEqual(["order tea is done."]);
  expect(work.server.legs).toHaveLength(2);
});

test("a sign-in is not missed that comes before the run listens", async () => {
  const work = await startLockedShop();
  const events = setStepSettings({ work: work.connection() });
  await work.signIn();
  events.push = ({ type }) => {
    if (type === "waiting-call") void work.signIn();
    return 0;
  };
  const look = { tool: "work__look", input: { item: "tea" }, toolCallId: "look" };
  const run = await app.beginScripted({ connections: ["work"], turns: [[look]] });
  expect((await run.returnValue).results[0]!.map(textOf)).toEqual(["look tea is done."]);
  expect(work.calls()).toHaveLength(2);
});

test("with no sign-in at all a stand-in waits, and then the agent has the tools", async () => {
  const work = await startLockedNotebook();
  setStepSettings({ work: work.connection() });
  const prompt = JSON.stringify([
    [{ tool: "work__sign_in" }, { tool: "work__sign_in" }],
    [addNote("tea")],
  ]);
  const run = await app.begin("agentTurn", { principal: alice, prompt, connections: ["work"] });
  const { runId } = run;
  await expect.poll(async () => callsOf(await sealed.waiting(runId, owner))).toHaveLength(2);
  await sealed.wake(runId, owner);
  expect(work.server.sessionIds).toEqual([]);
  await work.signIn();
  await sealed.wake(runId, owner);
  const { messages } = await run.returnValue;
  const told = messages
    .filter(({ role }: { role: string }) => role === "tool")
    .flatMap(({ content }: any) => content.map(({ output }: any) => textOf(output)));
  const signedIn = expect.stringContaining("The user has signed in to connection work.") as unknown;
  expect(told).toEqual([signedIn, signedIn, "1 notes"]);
  expect(work.server.sessionIds).toHaveLength(1);
});

test("a session from before the sign-in is kept by a run that begins without it", async () => {
  for (const isStored of [false, true]) {
    const work = await startLockedNotebook();
    setStepSettings({ work: work.connection() });
    const sessionId = crypto.randomUUID();
    const chat = { connections: ["work"], sessionId, isStored };
    await work.signIn();
    const { state } = await app.scripted({ ...chat, turns: [[addNote("tea")]] });
    work.signIns.revokeAll();
    const turns = [[{ tool: "work__sign_in", toolCallId: "sign in" }], [addNote("milk")]];
    const run = await app.beginScripted({ ...chat, state, turns: isStored ? [turns[1]!] : turns });
    const steps = isStored ? stored : sealed;
    await expect.poll(() => steps.waiting(run.runId, owner)).toHaveLength(2);
    await work.signIn();
    await steps.wake(run.runId, owner);
    expect((await run.returnValue).results.at(-1)!.map(textOf)).toEqual(["2 notes"]);
    expect(work.server.sessionIds).toHaveLength(1);
  }
});
