/** Calls that wait for a sign-in: the graph is interrupted, as by a question. */
import { expect, test } from "vitest";
import { callsOf } from "../../ai-sdk/test/calls-of.ts";
import {
  type LockedApplication,
  startLockedNotebook,
  use,
} from "../../ai-sdk/test/sign-in-application.ts";
import { createToldAgent, questions, results } from "../test/shop.ts";

const startUrl = "https://app.test/oauth/start";
const addNote = (text: string) => ({ name: "work__add_note", args: { text }, id: `call-${text}` });

/** An agent whose user was signed in, and is not any more when it makes its calls. */
async function startLocked(app: LockedApplication, turns: Parameters<typeof createToldAgent>[1]) {
  const step = <T>(work: () => Promise<T>) => app.sessions().run("chat", use, work);
  await app.signIn();
  await app.sessions().run("chat", use, (run) => run.tools());
  app.signIns.revokeAll();
  app.take();
  return createToldAgent(step, turns);
}

test("a call that meets a locked door waits in an interrupt, and is sent once after the sign-in", async () => {
  const app = await startLockedNotebook();
  const { start, resume } = await startLocked(app, [[addNote("tea")]]);
  const asked = await start();
  const [call] = callsOf(await app.waiting());
  expect(questions(asked)).toEqual([{ ...call, startUrl }]);
  expect(call).toMatchObject({ tool: "add_note", toolCallId: "call-tea", round: 0, requests: {} });
  expect(app.take().sent).toEqual(["POST tools/call"]);

  expect(questions(await resume("not yet"))).toEqual([{ ...call, startUrl }]);
  expect(app.take().sent).toEqual([]);

  await app.signIn();
  expect(results(await resume("done"))).toEqual(["1 notes"]);
  expect(app.take().sent).toEqual(["POST tools/call"]);
  expect(app.server.sessionIds).toHaveLength(1);
  expect(await app.waiting()).toEqual([]);
});
