import { expect, test } from "vitest";
import { clientNames } from "../clients/index.ts";
import { startSdkV2StatelessServer } from "../servers/sdk-v2.ts";
import { useServer } from "../servers/use-server.ts";
import { runStep } from "../steps/run-step.ts";

const used = useServer(() => startSdkV2StatelessServer("--cacheable"));

test.each(clientNames)("%s sends its call alone in a cold process", async (client) => {
  const { proxy } = used;
  proxy.requests.splice(0);
  const calls = [{ tool: "echo", args: { text: "hello" } }];
  const step = { client, url: proxy.url, list: true, calls, sessionFetch: "memory" } as const;
  const first = await runStep(step);
  expect(proxy.requests.splice(0).length).toBeGreaterThan(2);
  const second = await runStep({ ...step, snapshot: first.snapshot });
  for (const { error, results } of [first, second]) {
    expect([error, results.map(({ text }) => text)]).toEqual([undefined, ["hello"]]);
  }
  const requests = proxy.requests.splice(0).map(({ rpcMethod }) => rpcMethod);
  expect(requests).toEqual(["tools/call"]);
});
