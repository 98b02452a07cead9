import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { waitingResult } from "../../test/waiting-tool.ts";
import { findPlaceholders } from "./placeholders.ts";
import { waitingModelOutput } from "../tools/model-output.ts";

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
