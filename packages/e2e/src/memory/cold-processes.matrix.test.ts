import { createFaultyProxy } from "@durable-mcp/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clientNames } from "../clients/index.ts";
import type { TestServer } from "../servers/server-process.ts";
import { startSdkV2StatelessServer } from "../servers/sdk-v2.ts";
import { runStep } from "../steps/run-step.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startSdkV2StatelessServer("--cacheable");
});
afterAll(() => server?.stop());

test.each(clientNames)("%s sends its call alone in a cold process", async (client) => {
  await using proxy = await createFaultyProxy({ target: server.url });
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
