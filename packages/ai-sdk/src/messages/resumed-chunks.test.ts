import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { resumedChunks } from "./ui-chunks.ts";

const part = (own: object) => ({
  type: "dynamic-tool" as const,
  toolName: "shop__order",
  toolCallId: "call-1",
  state: "output-available" as const,
  input: {},
  output: undefined,
  ...own,
});
const message = (...parts: UIMessage["parts"]): UIMessage[] => [
  { id: "1", role: "assistant", parts },
];

test("chunks say that a tool is dynamic", () => {
  const after = message(part({ output: { ordered: 1 } }));
  const call = { toolCallId: "call-1", dynamic: true };
  expect(resumedChunks(message(part({})), after)).toEqual([
    { type: "tool-output-available", ...call, output: { ordered: 1 } },
  ]);
});

test("chunks leave out a call whose id the message has twice, for they would reach the wrong one", () => {
  const [first, second] = [part({ output: "done" }), part({})];
  const after = message(first, part({ output: { ordered: 1 } }));
  expect(resumedChunks(message(first, second), after)).toEqual([]);
});

test("there are no chunks without messages, and none for a last message of the user", () => {
  const user: UIMessage = { id: "2", role: "user", parts: [{ type: "text", text: "And?" }] };
  const after = message(part({ output: { ordered: 1 } }));
  expect(resumedChunks([], [])).toEqual([]);
  expect(resumedChunks([...message(part({})), user], [...after, user])).toEqual([]);
});
