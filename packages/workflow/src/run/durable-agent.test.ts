import { resumeHook } from "workflow/api";
import { expect, test, vi } from "vitest";
import { add, alice, list, startNotes, useTestApp } from "../../test/test-app.ts";

const app = useTestApp();
const patience = { timeout: 20_000, interval: 100 };

/** What the tools of each turn answered, as the model sees it. */
function toolOutputs(messages: { role: string; content: any }[]): any[][] {
  return messages
    .filter(({ role }) => role === "tool")
    .map(({ content }) => content.map((part: any) => part.output));
}

const text = (value: string) => ({ type: "content", value: [{ type: "text", text: value }] });

async function turn(turns: unknown, options: object = {}) {
  const prompt = JSON.stringify(turns);
  return await app.begin("agentTurn", { principal: alice, prompt, ...options });
}

test("a DurableAgent calls tools, several at once, on one session", async () => {
  const server = await startNotes();
  const run = await turn([[add("milk")], [add("bread"), add("eggs")], [list]]);
  const { messages } = await run.returnValue;
  const [[first], , [third]] = toolOutputs(messages) as any;
  expect(first).toEqual(text("1 notes"));
  expect(third.value[0].text.split(", ").toSorted()).toEqual(["bread", "eggs", "milk"]);
  expect(server.sessionIds).toHaveLength(1);
});

test("it is told what is wrong with an input that does not fit the tool", async () => {
  const server = await startNotes();
  const unfit = { tool: "notes__add_note", input: { text: 7 } };
  const { messages } = await (await turn([[unfit], [list]])).returnValue;
  expect(toolOutputs(messages)).toEqual([
    [
      {
        type: "error-text",
        value: expect.stringMatching(
          /^Invalid input for tool notes__add_note: .*Expected "string"/,
        ),
      },
    ],
    [text("")],
  ]);
  expect(server.log.filter((line) => line === "POST tools/call")).toHaveLength(1);
});

test("it is told that an outcome is unknown", async () => {
  const server = await startNotes();
  server.intercept((request, response) => {
    if (request.message?.method !== "tools/call") return "next";
    return void response.destroy();
  });
  const { messages } = await (await turn([[add("milk")]])).returnValue;
  expect(toolOutputs(messages)[0]![0]).toEqual({
    type: "error-text",
    value: expect.stringContaining("OUTCOME_UNKNOWN: tools/call"),
  });
});

test("it goes on after an approval, and a second run of the chat goes on in the session", async () => {
  const server = await startNotes();
  const approval = { tool: "notes__add_note", token: "approve-milk" };
  const run = await turn([[list], [add("milk")], [list]], { approval });
  await vi.waitFor(async () => await resumeHook("approve-milk", { approved: true }), patience);
  const first = await run.returnValue;
  expect(toolOutputs(first.messages)[2]![0]).toEqual(text("milk"));

  const second = await (await turn([[list]], { state: first.state })).returnValue;
  expect(toolOutputs(second.messages)[0]![0]).toEqual(text("milk"));
  expect(server.sessionIds).toHaveLength(1);
});

test("what nobody approved is not sent", async () => {
  const server = await startNotes();
  const approval = { tool: "notes__add_note", token: "refuse-milk" };
  const run = await turn([[add("milk")], [list]], { approval });
  await vi.waitFor(async () => await resumeHook("refuse-milk", { approved: false }), patience);
  const { messages } = await run.returnValue;
  expect(toolOutputs(messages)).toEqual([
    [{ type: "text", value: "Somebody said no." }],
    [text("")],
  ]);
  expect(server.log.filter((line) => line === "POST tools/call")).toHaveLength(1);
});
