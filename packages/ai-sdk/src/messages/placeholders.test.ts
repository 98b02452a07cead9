import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { majors, shopTools, waitingResult } from "../../test/waiting-tool.ts";
import { fillIn, type FilledIn, findPlaceholders, type Placeholder } from "./placeholders.ts";
import { waitingModelOutput } from "../tool-set/model-output.ts";

const toolCall = (toolCallId: string, input: object) => ({
  role: "assistant",
  content: [{ type: "tool-call", toolCallId, toolName: "shop__order", input }],
});
const toolResult = (toolCallId: string, output: unknown) => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId, toolName: "shop__order", output }],
});
const waits = (id: string) => waitingModelOutput(waitingResult(id));
const done = { type: "text", value: "done" };
const uiPart = (id: string, own: object = {}) => ({
  type: "tool-shop__order",
  toolCallId: "call-1",
  state: "output-available",
  input: { item: "tea" },
  output: waitingResult(id),
  ...own,
});
const user = { role: "user", content: "And?" };

describe("in model messages", () => {
  test("finds all, each with the arguments of its call", () => {
    const messages = [
      ...[user, toolCall("call-1", { item: "tea" }), toolResult("call-1", waits("wait-1"))],
      ...[user, { role: "assistant", content: "It waits." }, user],
      ...[toolCall("call-1", { item: "milk" }), toolResult("call-1", waits("wait-2"))],
      ...[toolCall("call-2", { item: "bread" }), toolResult("call-2", done)],
    ];
    const found = { toolCallId: "call-1", toolName: "shop__order" };
    expect(findPlaceholders(messages)).toEqual([
      { ...found, id: "wait-1", input: { item: "tea" } },
      { ...found, id: "wait-2", input: { item: "milk" } },
    ]);
  });

  test("finds several in one message, and one whose call is missing", () => {
    const [first] = toolResult("call-1", waits("wait-1")).content;
    const [second] = toolResult("call-2", waits("wait-2")).content;
    const found = findPlaceholders([{ role: "tool", content: [first, second] }]);
    expect(found.map(({ id, input }) => [id, input])).toEqual([
      ["wait-1", undefined],
      ["wait-2", undefined],
    ]);
  });

  test("the user's and the model's own words are none", () => {
    const { content } = toolResult("call-1", waits("wait-1"));
    expect(findPlaceholders([{ role: "user", content }])).toEqual([]);
    expect(findPlaceholders([{ role: "assistant", content }])).toEqual([]);
  });
});

describe("in UI messages", () => {
  test("finds those of static and dynamic tools", () => {
    const dynamic = { type: "dynamic-tool", toolName: "shop__order", toolCallId: "call-2" };
    const parts = [uiPart("wait-1"), { type: "step-start" }, uiPart("wait-2", dynamic)];
    const found = { toolName: "shop__order", input: { item: "tea" } };
    expect(findPlaceholders([{ id: "1", role: "assistant", parts }, user])).toEqual([
      { ...found, id: "wait-1", toolCallId: "call-1" },
      { ...found, id: "wait-2", toolCallId: "call-2" },
    ]);
  });

  test("finds one that is preliminary, because its stream broke off", () => {
    const parts = [uiPart("wait-1", { preliminary: true })];
    expect(findPlaceholders([{ role: "assistant", parts }])).toHaveLength(1);
  });

  test.each([
    ["another state", { state: "input-available" }],
    ["a failed call", { state: "output-error" }],
    ["another part", { type: "data-order" }],
    ["a call without an id", { toolCallId: 7 }],
    ["another output", { output: { ordered: 1 } }],
  ])("%s is none", (_name, own) => {
    const parts = [uiPart("wait-1", own)];
    expect(findPlaceholders([{ role: "assistant", parts }])).toEqual([]);
  });
});

const inherits = (value: object) => Object.create(value) as object;

describe("of strangers", () => {
  test("inherited keys do not count", () => {
    const message = toolResult("call-1", waits("wait-1"));
    const [part] = message.content;
    expect(findPlaceholders([inherits(message)])).toEqual([]);
    expect(findPlaceholders([{ ...message, content: [inherits(part!)] }])).toEqual([]);
    const polluted = toolResult("call-1", inherits(waits("wait-1")));
    expect(findPlaceholders([polluted])).toEqual([]);
  });

  test("keys that objects have by themselves are ordinary ids", () => {
    const json = JSON.stringify([
      toolCall("__proto__", { item: "tea" }),
      toolResult("__proto__", waits("constructor")),
      toolResult("constructor", waits("__proto__")),
    ]);
    expect(findPlaceholders(JSON.parse(json) as unknown[])).toMatchObject([
      { id: "constructor", toolCallId: "__proto__", input: { item: "tea" } },
      { id: "__proto__", toolCallId: "constructor", input: undefined },
    ]);
  });

  test.each(["", "x".repeat(257)])("an id that no waiting call has is skipped", (id) => {
    const ui = { role: "assistant", parts: [uiPart(id)] };
    expect(findPlaceholders([toolResult("call-1", waits(id)), ui])).toEqual([]);
  });

  test("no shape throws", () => {
    const anyPart = fc.oneof(
      fc.anything(),
      fc.record(
        {
          type: fc.oneof(fc.constantFrom("tool-call", "tool-result", "dynamic-tool"), fc.string()),
          state: fc.oneof(fc.constant("output-available"), fc.anything()),
          toolCallId: fc.anything(),
          toolName: fc.anything(),
          output: fc.oneof(
            fc.record({
              type: fc.constantFrom("content", "json"),
              value: fc.oneof(fc.anything(), fc.array(fc.anything())),
            }),
            fc.record({ _meta: fc.anything() }),
            fc.anything(),
          ),
        },
        { requiredKeys: [] },
      ),
    );
    const list = fc.oneof(fc.anything(), fc.array(anyPart));
    const message = fc.record(
      { role: fc.constantFrom("assistant", "tool", "user"), content: list, parts: list },
      { requiredKeys: [] },
    );
    const messages = fc.array(fc.oneof(message, fc.anything()));
    fc.assert(
      fc.property(messages, (any) => {
        expect(Array.isArray(findPlaceholders(any))).toBe(true);
      }),
    );
  });
});

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

const placeholder = (toolCallId: string, id: string) => ({
  type: "tool-result" as const,
  toolCallId,
  toolName: "shop__order",
  output: waitingModelOutput(waitingResult(id)),
});
const modelMessages = frozen([
  { role: "user" as const, content: "Order tea and milk." },
  {
    role: "tool" as const,
    content: [placeholder("call-1", "wait-1"), placeholder("call-2", "wait-2")],
  },
  { role: "user" as const, content: "And bread." },
  { role: "tool" as const, content: [placeholder("call-3", "wait-3")] },
]);

test("results take the places in model messages; what waits, stays", () => {
  const filled = fillIn(modelMessages, ({ id }) =>
    id === "wait-3" ? failed : only("wait-1", ordered)({ id } as Placeholder),
  );
  expect(filled[1]!.content).toMatchObject([
    { toolCallId: "call-1", output: ordered.modelOutput },
    placeholder("call-2", "wait-2"),
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

describe.each(majors)("filled in, with AI SDK $major", ({ ai }) => {
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
