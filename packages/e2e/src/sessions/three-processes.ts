import { expect } from "vitest";
import { type ClientName, clientNames } from "../clients/index.ts";
import { wrongAnswers } from "../stateful/call-outcomes.ts";
import type { StatefulServer } from "../stateful/stateful-servers.ts";
import { runStep } from "../steps/run-step.ts";
import { sessionIdOf } from "../steps/session-id-canary.ts";
import type { CountingProxy } from "../wire/counting-proxy.ts";

/** Four processes, one after the other: the first makes state, two see it, the last only lists. */
export async function expectOneSessionOverProcesses(
  stateful: StatefulServer,
  proxy: CountingProxy,
  client: ClientName,
): Promise<void> {
  proxy.takeRequests();
  const tag = `tag-${clientNames.indexOf(client)}`;
  const step = { client, url: proxy.url, list: true };

  const made = stateful.makeState(tag);
  const first = await runStep({ ...step, calls: made });
  expect(first.error).toBeUndefined();
  expect(first.printed).toBe("");
  expect(wrongAnswers(made, first.results)).toEqual([]);
  const fresh = proxy.takeRequests();
  expect(fresh.map(({ httpMethod, rpcMethod }) => `${httpMethod} ${rpcMethod}`)).toEqual([
    "POST initialize",
    "POST notifications/initialized",
    "POST tools/list",
    ...made.map(() => "POST tools/call"),
  ]);
  expect(fresh.map((request) => request.withSessionId)).toEqual(fresh.map((_, index) => index > 0));

  let snapshot = first.snapshot;
  for (const call of stateful.seeState(tag)) {
    const later = await runStep({ ...step, snapshot, calls: [call] });
    expect(later.error).toBeUndefined();
    expect(wrongAnswers([call], later.results)).toEqual([]);
    expect(later.tools).toEqual(first.tools);
    expect(later.pid).not.toBe(first.pid);
    expect(proxy.takeRequests()).toEqual([
      {
        httpMethod: "POST",
        rpcMethod: "tools/call",
        tool: call.tool,
        withSessionId: true,
        withProtocolVersion: true,
        status: 200,
      },
    ]);
    expect(sessionIdOf(later.snapshot) === sessionIdOf(first.snapshot)).toBe(true);
    snapshot = later.snapshot;
  }

  const listing = await runStep({ ...step, snapshot });
  expect(listing.error).toBeUndefined();
  expect(listing.tools).toEqual(first.tools);
  expect(proxy.takeRequests()).toEqual([]);
}
