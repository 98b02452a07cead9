import { expect, test } from "vitest";
import { toolDefinition } from "../test/mcp-server.ts";
import { startLostStep } from "../test/step.ts";

const standing = {
  toolList: { tools: [toolDefinition("echo")], listedAt: 1 },
  subscriptions: ["file:///a"],
  logLevel: "info",
};

test.each([
  ["with createContinuity, a recovery asks for all of it again", true],
  ["without createContinuity, a recovery leaves it to the client", false],
])("%s", async (_, isOn) => {
  const lost = await startLostStep(isOn ? {} : { continuity: undefined });
  const { server, client, slot } = lost;
  Object.assign(lost.snapshot, standing);
  await client.request("tools/call");
  const methods = server.requests.flatMap(({ message }) => message?.method ?? []);
  const again = ["resources/subscribe", "logging/setLevel", "tools/list"];
  const asked = again.filter((method) => methods.includes(method));
  expect(asked).toEqual(isOn ? again : []);
  // The next process may have it, and then needs to know.
  expect(slot.snapshot).toMatchObject({ subscriptions: ["file:///a"], logLevel: "info" });
});
