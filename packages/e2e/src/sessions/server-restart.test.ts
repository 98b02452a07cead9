import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wrongAnswers } from "../stateful/call-outcomes.ts";
import { clientNames } from "../clients/index.ts";
import { type CountingProxy, startCountingProxy } from "../wire/counting-proxy.ts";
import { runStep } from "../steps/run-step.ts";
import type { StepRun } from "../steps/step-protocol.ts";
import { sessionIdOf } from "../steps/session-id-canary.ts";
import type { TestServer } from "../servers/server-process.ts";
import { skipReason } from "../stateful/skip-reason.ts";
import { statefulServers } from "../stateful/stateful-servers.ts";

const callsInFlight = 6;

describe.each(statefulServers)("after a restart of $name", (stateful) => {
  const skipped = skipReason(stateful);
  let server: TestServer;
  const before = new Map<string, { proxy: CountingProxy; step: StepRun }>();

  // One restart serves all clients: each has a session that the new process does not know.
  beforeAll(async () => {
    if (skipped) return;
    server = await stateful.start();
    for (const client of clientNames) {
      const proxy = await startCountingProxy(server.url);
      const calls = stateful.makeState(`before-${clientNames.indexOf(client)}`);
      const step = await runStep({ client, url: proxy.url, list: true, calls });
      before.set(client, { proxy, step });
    }
    await server.restart();
  }, 90_000);
  afterAll(async () => {
    await Promise.all([...before.values()].map(({ proxy }) => proxy.close()));
    await server?.stop();
  });

  test.skipIf(skipped).each(clientNames)(
    "%s starts one new session for all calls in flight (S5, S58, S59)",
    { timeout: 60_000 },
    async (client) => {
      const { proxy, step: first } = before.get(client)!;
      expect(first.error).toBeUndefined();
      expect(sessionIdOf(first.snapshot) !== undefined).toBe(true);
      proxy.takeRequests();

      const calls = Array.from({ length: callsInFlight }, (_, n) =>
        stateful.independentCall(`again-${clientNames.indexOf(client)}`, n),
      );
      const step = { client, url: proxy.url, list: true };
      const second = await runStep({
        ...step,
        snapshot: first.snapshot,
        calls,
        overlapping: true,
      });
      expect(second.error).toBeUndefined();
      expect(wrongAnswers(calls, second.results)).toEqual([]);
      expect(second.tools).toEqual(first.tools);

      const requests = proxy.takeRequests();
      const count = (method: string) =>
        requests.filter((request) => request.rpcMethod === method).length;
      expect(count("initialize")).toBe(1);
      expect(count("notifications/initialized")).toBe(1);
      expect(
        requests.filter((request) => request.rpcMethod === "initialize" && request.withSessionId),
      ).toEqual([]);
      expect(
        requests.filter((request) => request.rpcMethod === "tools/call" && request.status === 200),
      ).toHaveLength(callsInFlight);
      expect(requests.filter((request) => request.httpMethod !== "POST")).toEqual([]);

      expect(sessionIdOf(second.snapshot) !== undefined).toBe(true);
      expect(sessionIdOf(second.snapshot) === sessionIdOf(first.snapshot)).toBe(false);

      const call = stateful.independentCall(`third-${clientNames.indexOf(client)}`, 0);
      const third = await runStep({ ...step, snapshot: second.snapshot, calls: [call] });
      expect(wrongAnswers([call], third.results)).toEqual([]);
      expect(sessionIdOf(third.snapshot) === sessionIdOf(second.snapshot)).toBe(true);
      const thirdMethods = proxy.takeRequests().map((request) => request.rpcMethod);
      expect(thirdMethods.filter((method) => method !== "tools/list")).toEqual(["tools/call"]);
    },
  );
});
