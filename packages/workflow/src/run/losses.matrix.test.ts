import { expect, test, vi } from "vitest";
import { resumeHook } from "workflow/api";
import { sendJson } from "../../../core/test/http-server.ts";
import { on } from "../../../sessions/test/notebook-server.ts";
import { replaceSealingKey } from "../../test/app/connections.ts";
import {
  add,
  list,
  type ScriptedResult,
  startNotes,
  textOf,
  useTestApp,
} from "../../test/test-app.ts";

const app = useTestApp();
const patience = { timeout: 20_000, interval: 100 };
const notice = "the server had lost the session";

/** Forgets all sessions before the second call of a tool arrives. */
function forgetBeforeSecondCall(server: Awaited<ReturnType<typeof startNotes>>): void {
  let calls = 0;
  server.intercept(
    on("tools/call", () => {
      calls += 1;
      if (calls === 2) server.forgetSessions();
      return "next";
    }),
  );
}

function textsOf({ results }: ScriptedResult): string[][] {
  return results.map((turn) => turn.map(textOf));
}

test("calls that lose the session together go on in one other, and the model is told once", async () => {
  const server = await startNotes();
  forgetBeforeSecondCall(server);
  const items = ["a", "b", "c", "d"];
  const turns = [[add("milk")], items.map(add), [list]];
  const texts = textsOf(await app.scripted({ turns }));
  expect(texts[2]![0]!.split(", ").toSorted()).toEqual(items);
  expect(texts.flat().filter((text) => text.includes(notice))).toHaveLength(1);
  expect(server.sessionIds).toHaveLength(2);
});

test("with a store, too", async () => {
  const server = await startNotes();
  forgetBeforeSecondCall(server);
  const items = ["a", "b", "c", "d"];
  const turns = [[add("milk")], items.map(add), [list]];
  const result = await app.scripted({ isStored: true, sessionId: "lost together", turns });
  const texts = textsOf(result);
  expect(texts[2]![0]!.split(", ").toSorted()).toEqual(items);
  expect(texts.flat().some((text) => text.includes(notice))).toBe(true);
  expect(server.sessionIds).toHaveLength(2);
  expect(result.state).toBeUndefined();
});

test("with a store, a step that finds the session lost by another run makes none of its own", async () => {
  const server = await startNotes({ resend: "never" });
  const chat = { isStored: true, sessionId: "lost by another" };
  const calls = [add("a"), add("b"), add("c"), add("d")];
  const waiting = await app.beginScripted({
    ...chat,
    turns: [[add("milk")], { hook: "go on" }, calls, [list]],
  });
  await vi.waitFor(() => expect(server.log).toContain("POST tools/call"), patience);
  server.forgetSessions();
  // Opens no other before its call: the tool list is kept.
  const loser = await app.scripted({ ...chat, turns: [[list]] });
  expect(loser.results[0]![0]).toMatchObject({ code: "SESSION_LOST" });

  await vi.waitFor(async () => await resumeHook("go on", {}), patience);
  const texts = textsOf(await waiting.returnValue);
  expect(texts.at(-1)![0]!.split(", ").toSorted()).toEqual(["a", "b", "c", "d"]);
  expect(server.sessionIds).toHaveLength(2);
});

test("with a store, a session that was ended while the run slept is replaced once, and the model told", async () => {
  const server = await startNotes();
  const chat = { isStored: true, sessionId: "ended by another" };
  const sleeper = await app.beginScripted({
    ...chat,
    turns: [[add("milk")], { hook: "wake up" }, [list, list, list], [list]],
  });
  await vi.waitFor(() => expect(server.log).toContain("POST tools/call"), patience);
  // As a sweep does.
  await app.scripted({ ...chat, endsSessions: true });
  await vi.waitFor(async () => await resumeHook("wake up", {}), patience);
  const [, , atOnce, last] = textsOf(await sleeper.returnValue);
  expect(atOnce!.filter((text) => text.includes(notice))).toHaveLength(1);
  expect(last).toEqual([""]);
  expect(server.sessionIds).toHaveLength(2);
  expect(server.liveSessions()).toBe(1);
});

test("a loss that no call met any more is told in the next run", async () => {
  const server = await startNotes();
  const first = await app.scripted({ turns: [[add("milk")]] });
  server.forgetSessions();
  const second = await app.scripted({ state: first.state });
  const third = await app.scripted({ state: second.state, turns: [[list], [list]] });
  const texts = textsOf(third).flat();
  expect(texts[0]).toContain(notice);
  expect(texts[1]).not.toContain(notice);
  expect(server.sessionIds).toHaveLength(2);
});

test("a definition that sends nothing again fails the call, and the next one goes on", async () => {
  const server = await startNotes({ resend: "never" });
  forgetBeforeSecondCall(server);
  const { results } = await app.scripted({ turns: [[add("milk")], [add("bread")], [list]] });
  expect(results[1]![0]).toMatchObject({ code: "SESSION_LOST" });
  expect(textOf(results[2]![0])).toContain(notice);
  expect(server.sessionIds).toHaveLength(2);
});

test("the model is told when the key of the session is gone in the middle of a run", async () => {
  const server = await startNotes();
  const turns = [[add("milk")], { hook: "key gone" }, [list], [list]];
  const run = await app.beginScripted({ turns });
  await vi.waitFor(() => expect(server.log).toContain("POST tools/call"), patience);
  replaceSealingKey();
  await vi.waitFor(async () => await resumeHook("key gone", {}), patience);
  const { results } = await run.returnValue;
  expect(textOf(results[2]![0])).toContain(notice);
  expect(textOf(results[3]![0])).not.toContain(notice);
  expect(server.sessionIds).toHaveLength(2);
});

/** A run whose first call is refused in words that may mean that the session is lost. */
async function callRefused(resend: string[]) {
  const server = await startNotes({ resend, classifyLoss: () => "probable" });
  let isRefused = false;
  server.intercept(
    on("tools/call", (_, response) => {
      if (isRefused) return "next";
      isRefused = true;
      return sendJson(response, 400, { error: "Something about a session." });
    }),
  );
  const { results } = await app.scripted({ turns: [[list]] });
  const calls = server.log.filter((line) => line === "POST tools/call").length;
  return { result: results[0]![0], calls };
}

test("a call is not made again after a probable loss", async () => {
  const { result, calls } = await callRefused([]);
  const message: unknown = expect.stringContaining("OUTCOME_UNKNOWN: ");
  expect(result).toMatchObject({ code: "OUTCOME_UNKNOWN", message });
  expect(calls).toBe(1);
});

test("a call of a safe tool is made again after a probable loss", async () => {
  const { result, calls } = await callRefused(["list_notes"]);
  expect(textOf(result)).toContain(notice);
  expect(calls).toBe(2);
});

test("an answer that is lost on its way is an unknown outcome, and the session goes on", async () => {
  const server = await startNotes();
  let isBroken = false;
  server.intercept(
    on("tools/call", (_, response) => {
      if (isBroken) return "next";
      isBroken = true;
      return void response.destroy();
    }),
  );
  const { results } = await app.scripted({ turns: [[add("milk")], [add("bread")]] });
  expect(results[0]![0]).toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(textOf(results[1]![0])).toBe("1 notes");
  expect(server.sessionIds).toHaveLength(1);
});

test("a server that loses each session at once fails the call, not the run", async () => {
  const server = await startNotes();
  server.intercept(
    on("tools/call", () => {
      server.forgetSessions();
      return "next";
    }),
  );
  const { results, state } = await app.scripted({ turns: [[add("milk")]] });
  expect(results[0]![0]).toMatchObject({ code: "SESSION_LOST" });
  server.intercept(() => "next");
  const next = await app.scripted({ state, turns: [[list]] });
  expect(textOf(next.results[0]![0])).toContain(notice);
});
