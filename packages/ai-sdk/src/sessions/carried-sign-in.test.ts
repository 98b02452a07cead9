import type { ModelMessage } from "ai";
import { expect, test } from "vitest";
import { callsOf } from "../../test/calls-of.ts";
import { collectEvents } from "../../test/collect-events.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import {
  addNote,
  ai7,
  asJson,
  startLockedNotebook,
  use,
  user,
} from "../../test/sign-in-application.ts";
import { alice } from "../../test/step.ts";
import { stopWhenWaiting } from "../waiting/stop-when-waiting.ts";
import { createConnectionProvider } from "./create-connection-provider.ts";

interface Chat {
  readonly state?: unknown;
}

/** Steps on state that the application carries, with a claim. Each is a process of its own. */
async function start() {
  const app = await startLockedNotebook();
  const { onEvent } = collectEvents();
  const claimed = new Set<string>();
  const claim = ({ key }: { key: string }) => claimed.size < claimed.add(key).size;
  const provider = () =>
    createConnectionProvider({ connections: { work: app.connection() }, claim, onEvent });
  const step = async (chat: Chat, before: ModelMessage[], ...turns: Turn[]) => {
    const model = scriptedModel(...turns);
    const options = { session: asJson(chat), principal: alice };
    const { result, session } = await provider().run(options, async (run) => {
      const tools = await run.tools();
      const { messages, stillWaiting } = await run.waiting.resume(before, { tools });
      if (stillWaiting.length > 0) return messages;
      const stop = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 10 });
      const said = await ai7.generateText({ model, tools, messages, ...stop });
      return [...messages, ...said.responseMessages];
    });
    return { chat: session, messages: asJson(result), told: toolResults(model) };
  };
  return { ...app, provider, step };
}

test("in a state with a claim, a call waits and goes on, and two copies of the state send it once", async () => {
  const app = await start();
  await app.signIn();
  const first = await app.step({}, [user], "Hello.");
  app.signIns.revokeAll();
  const parked = await app.step(first.chat, [user], [addNote("tea")]);
  const entries = await app.provider().waiting(parked.chat, use);
  expect(entries).toMatchObject([
    { kind: "authorization", connection: "work", startUrl: app.signIns.startUrl },
    { kind: "authorization", id: expect.any(String), tool: "add_note", state: "waiting" },
  ]);
  const [call] = callsOf(entries);
  const answered = app.provider().answer(parked.chat, call!.id, {}, use);
  await expect(answered).rejects.toMatchObject({
    code: "NOT_WAITING",
    data: { startUrl: app.signIns.startUrl },
  });

  await app.signIn();
  app.take();
  const outcomes = await Promise.all([
    app.step(parked.chat, parked.messages, "Done."),
    app.step(parked.chat, parked.messages, "Done."),
  ]);
  expect(app.calls()).toHaveLength(1);
  expect(outcomes.flatMap(({ told }) => told)).toEqual(["1 notes"]);
});

test("a stand-in in a state waits, and can be withdrawn", async () => {
  const app = await start();
  const { chat, messages } = await app.step({}, [user], [{ tool: "work__sign_in" }]);
  const [call] = callsOf(await app.provider().waiting(chat, use));
  const { session } = await app.provider().withdraw(chat, call!.id, use);
  const { told } = await app.step(session, messages, "Then not.");
  expect(told).toEqual([expect.stringContaining("has taken the call back")]);
});
