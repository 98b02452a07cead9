import { type FaultyProxy, createFaultyProxy } from "@durable-mcp/testing";
import { expect } from "vitest";
import { type ClientName, clientNames } from "../clients/index.ts";
import type { TestServer } from "../servers/server-process.ts";
import { wrongAnswers } from "../stateful/call-outcomes.ts";
import type { StatefulServer } from "../stateful/stateful-servers.ts";
import { runStep } from "../steps/run-step.ts";
import { sessionIdOf } from "../steps/session-id-canary.ts";
import type { StepRun } from "../steps/step-protocol.ts";

const callsInFlight = 6;

/** A server that has been restarted, and the sessions of several clients that it forgot. */
export interface RestartedServer extends AsyncDisposable {
  readonly stateful: StatefulServer;
  readonly before: ReadonlyMap<ClientName, { proxy: FaultyProxy; step: StepRun }>;
}

/** One restart serves all clients: each has a session that the new process does not know. */
export async function restartUnder(
  stateful: StatefulServer,
  server: TestServer,
  clients: readonly ClientName[],
): Promise<RestartedServer> {
  const before = new Map<ClientName, { proxy: FaultyProxy; step: StepRun }>();
  for (const client of clients) {
    const proxy = await createFaultyProxy({ target: server.url });
    const calls = stateful.makeState(`before-${clientNames.indexOf(client)}`);
    const step = await runStep({ client, url: proxy.url, list: true, calls });
    before.set(client, { proxy, step });
  }
  await server.restart();
  return {
    stateful,
    before,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...before.values()].map(({ proxy }) => proxy.close()));
    },
  };
}

/** The next step makes all its calls in one new session, and the step after it goes on there. */
export async function expectOneNewSession(
  { stateful, before }: RestartedServer,
  client: ClientName,
): Promise<void> {
  const { proxy, step: first } = before.get(client)!;
  expect(first.error).toBeUndefined();
  expect(sessionIdOf(first.snapshot) !== undefined).toBe(true);
  proxy.requests.splice(0);

  const calls = Array.from({ length: callsInFlight }, (_, n) =>
    stateful.independentCall(`again-${clientNames.indexOf(client)}`, n),
  );
  const step = { client, url: proxy.url, list: true };
  const second = await runStep({ ...step, snapshot: first.snapshot, calls, overlapping: true });
  expect(second.error).toBeUndefined();
  expect(wrongAnswers(calls, second.results)).toEqual([]);
  expect(second.tools).toEqual(first.tools);

  const requests = proxy.requests.splice(0);
  const count = (method: string) =>
    requests.filter((request) => request.rpcMethod === method).length;
  expect(count("initialize")).toBe(1);
  expect(count("notifications/initialized")).toBe(1);
  expect(
    requests.filter(
      (request) => request.rpcMethod === "initialize" && request.headers.has("mcp-session-id"),
    ),
  ).toEqual([]);
  expect(
    requests.filter((request) => request.rpcMethod === "tools/call" && request.status === 200),
  ).toHaveLength(callsInFlight);
  // The lost session is ended in the background, in case that another replica still has it.
  const mayBe = new Set(["POST", "DELETE"]);
  expect(requests.filter(({ httpMethod }) => !mayBe.has(httpMethod))).toEqual([]);

  expect(sessionIdOf(second.snapshot) !== undefined).toBe(true);
  expect(sessionIdOf(second.snapshot) === sessionIdOf(first.snapshot)).toBe(false);

  const call = stateful.independentCall(`third-${clientNames.indexOf(client)}`, 0);
  const third = await runStep({ ...step, snapshot: second.snapshot, calls: [call] });
  expect(wrongAnswers([call], third.results)).toEqual([]);
  expect(sessionIdOf(third.snapshot) === sessionIdOf(second.snapshot)).toBe(true);
  const thirdMethods = proxy.requests.splice(0).map((request) => request.rpcMethod);
  expect(thirdMethods.filter((method) => method !== "tools/list")).toEqual(["tools/call"]);
}
