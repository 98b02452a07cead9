import { expect, test } from "vitest";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { addNote, asJson, startLockedNotebook, user } from "../../test/sign-in-application.ts";
import { alice } from "../../test/step.ts";
import { createDurableAgent } from "./durable-agent.ts";

const options = { sessionId: "chat", principal: alice };
const waited = { finishReason: "other", rawFinishReason: "waiting", text: "" };

/** Each agent is a process of its own. */
async function start() {
  const app = await startLockedNotebook();
  const agent = (...turns: Turn[]) => {
    const model = scriptedModel(...turns);
    const sessions = app.sessions();
    // The stand-in alone is no reason to say that a tool is missing.
    const activeTools = ["work__add_note", "work__sign_in"] as never[];
    return Object.assign(createDurableAgent({ sessions, model, activeTools }), { model });
  };
  return { ...app, agent };
}

test("a durable agent goes on after the sign-in by itself: first with the stand-in, then with a call", async () => {
  const { agent, signIn, signIns, calls, events } = await start();
  const first = await agent([{ tool: "work__sign_in" }], "never").generate({
    messages: [user],
    options,
  });
  expect(first).toMatchObject(waited);
  let messages = asJson([user, ...first.responseMessages]);
  expect(events.filter(({ type }) => type === "tools-unmatched")).toEqual([]);
  expect(await agent("never").generate({ messages, options })).toMatchObject(waited);

  await signIn();
  const second = agent([addNote("a")], "One note.");
  expect((await second.generate({ messages, options })).text).toBe("One note.");
  expect(toolResults(second.model).at(0)).toContain("The user has signed in");

  await second.sessions.shutdown();

  signIns.revokeAll();
  const third = await agent([addNote("b")], "never").generate({ messages: [user], options });
  expect(third).toMatchObject(waited);
  messages = asJson([user, ...third.responseMessages]);
  await signIn();
  const open = await agent("Two notes.").open(options);
  expect(await open.waiting.list()).toMatchObject([
    { type: "call-waits-for-sign-in", tool: "add_note" },
  ]);
  expect((await open.generate({ messages })).text).toBe("Two notes.");
  expect(await open.waiting.list()).toEqual([]);
  await open.dispose();
  // The first note, the refused call, and the call after the sign-in.
  expect(calls()).toHaveLength(3);
});
