import { describe, expect, test } from "vitest";
import { majors, shopTools, waitingResult } from "../../test/waiting-tool.ts";
import { fillIn, type FilledIn } from "./placeholders.ts";
import { findPlaceholders, type Placeholder } from "./placeholders.ts";
import { waitingModelOutput } from "../tools/model-output.ts";

const ordered: FilledIn = {
  modelOutput: { type: "json", value: { ordered: 1 } },
  ui: { state: "output-available", output: { ordered: 1 } },
};
const failed: FilledIn = {
  modelOutput: { type: "error-text", value: "The shop is closed." },
  ui: { state: "output-error", errorText: "The shop is closed." },
};
const only = (wanted: string, filled: FilledIn) => (place: Placeholder) =>
  place.id === wanted ? filled : undefined;

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.values(Object.freeze(value)).forEach(frozen);
  }
  return value;
}

const part = (toolCallId: string, id: string) => ({
  type: "tool-result" as const,
  toolCallId,
  toolName: "shop__order",
  output: waitingModelOutput(waitingResult(id)),
});
const modelMessages = frozen([
  { role: "user" as const, content: "Order tea and milk." },
  { role: "tool" as const, content: [part("call-1", "wait-1"), part("call-2", "wait-2")] },
  { role: "user" as const, content: "And bread." },
  { role: "tool" as const, content: [part("call-3", "wait-3")] },
]);

test("results take the places in model messages; what waits, stays", () => {
  const filled = fillIn(modelMessages, ({ id }) =>
    id === "wait-3" ? failed : only("wait-1", ordered)({ id } as Placeholder),
  );
  expect(filled[1]!.content).toMatchObject([
    { toolCallId: "call-1", output: ordered.modelOutput },
    part("call-2", "wait-2"),
  ]);
  expect(filled[3]!.content).toMatchObject([{ output: failed.modelOutput }]);
  expect(findPlaceholders(filled).map(({ id }) => id)).toEqual(["wait-2"]);
});

test("messages in which nothing is filled in are the same objects", () => {
  const filled = fillIn(modelMessages, only("wait-1", ordered));
  expect(filled.map((message, index) => message === modelMessages[index])).toEqual([
    ...[true, false, true, true],
  ]);
});

const uiMessage = frozen({
  id: "1",
  role: "assistant" as const,
  parts: [
    { type: "step-start" as const },
    {
      type: "tool-shop__order" as const,
      toolCallId: "call-1",
      state: "output-available" as const,
      input: { item: "tea" },
      output: waitingResult("wait-1"),
      preliminary: true,
      callProviderMetadata: { model: { signature: "s" } },
      approval: { id: "approval-1", approved: true as const },
    },
    { type: "step-start" as const },
  ],
});

describe.each(majors)("AI SDK $major", ({ ai }) => {
  const { tools } = shopTools();
  const { output: _, preliminary: __, state: ___, ...kept } = uiMessage.parts[1] as any;

  test.each([
    ["a result", ordered],
    ["a failure", failed],
  ])("%s takes the place in UI messages, which are valid", async (_name, filledIn) => {
    const [message] = fillIn([uiMessage], only("wait-1", filledIn));
    const [start, filled, end] = message!.parts;
    expect(filled).toStrictEqual({ ...kept, ...filledIn.ui });
    expect([start, end]).toEqual([{ type: "step-start" }, { type: "step-start" }]);
    const messages = JSON.parse(JSON.stringify([message])) as never;
    const valid = await ai.validateUIMessages({ messages, tools: tools as never });
    expect(valid).toStrictEqual([message]);
    const converted = await ai.convertToModelMessages(valid, { tools });
    expect(converted.at(-1)!.content).toMatchObject([
      { type: "tool-approval-response" },
      { type: "tool-result", output: filledIn.modelOutput },
    ]);
  });
});
