import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("a fetch that nobody holds leaves no memory behind, although its calls had five minutes", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const callOnce = async () => {
    const { client, slot } = startStep(server, { snapshot });
    await client.request("tools/call", { name: "echo", arguments: {} });
    return new WeakRef(slot);
  };
  const dropped = await callOnce();
  // A boolean: what an attempt returns is held by `poll` until the next one has ended.
  await expect
    .poll(async () => {
      await delay(1);
      collectGarbage();
      return dropped.deref() === undefined;
    })
    .toBe(true);
});
