import { safeValidateUIMessages, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { settleMessages } from "./settle-messages.ts";

test.each([
  ["approval-requested", { id: "a" }],
  ["approval-responded", { id: "a", approved: false }],
  ["approval-responded", { id: "a", approved: true }],
])("AI SDK takes a call that is lost: %s, %j", async (state, approval) => {
  const call = { type: "dynamic-tool", toolCallId: "1", toolName: "order", input: {} };
  const messages = [
    { id: "m", role: "assistant", parts: [{ ...call, state, approval }] },
  ] as UIMessage[];
  const settled = settleMessages(messages);
  expect(settled[0]!.parts).toMatchObject([{ state: "output-error" }]);
  expect(await safeValidateUIMessages({ messages: settled })).toMatchObject({ success: true });
});
