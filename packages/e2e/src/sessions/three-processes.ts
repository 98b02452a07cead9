import type { FaultyProxy } from "@durable-mcp/testing";
import { expect } from "vitest";
import { type ClientName, clientNames } from "../clients/index.ts";
import { wrongAnswers } from "../stateful/call-outcomes.ts";
import type { StatefulServer } from "../stateful/stateful-servers.ts";
import { runStep } from "../steps/run-step.ts";
import { sessionIdOf } from "../steps/session-id-canary.ts";

/** Four processes, one after the other: the first makes state, two see it, the last only lists. */
export async function expectOneSessionOverProcesses(
  stateful: StatefulServer,
  proxy: FaultyProxy,
  client: ClientName,
): Promise<void> {
  proxy.requests.splice(0);
  const tag = `tag-${clientNames.indexOf(client)}`;
  const step = { client, url: proxy.url, list: true };

  const made = stateful.makeState(tag);
  const first = await runStep({ ...step, calls: made });
  expect(first.error).toBeUndefined();
  expect(first.printed).toBe("");
  expect(wrongAnswers(made, first.results)).toEqual([]);
  const fresh = proxy.requests.splice(0);
  expect(fresh.map(({ httpMethod, rpcMethod }) => `${httpMethod} ${rpcMethod}`)).toEqual([
    "POST initialize",
    "POST notifications/initialized",
    "POST tools/list",
    ...made.map(() => "POST tools/call"),
  ]);
  const sessions = fresh.map((request) => request.session);
  const session = sessions[1];
  expect(session).toBeTypeOf("number");
  expect(sessions).toEqual([undefined, ...sessions.slice(1).map(() => session)]);

  let snapshot = first.snapshot;
  for (const call of stateful.seeState(tag)) {
    const later = await runStep({ ...step, snapshot, calls: [call] });
    expect(later.error).toBeUndefined();
    expect(wrongAnswers([call], later.results)).toEqual([]);
    expect(later.tools).toEqual(first.tools);
    expect(later.pid).not.toBe(first.pid);
    const [request, ...others] = proxy.requests.splice(0);
    const { tool } = call;
    expect(request).toMatchObject({ httpMethod: "POST", rpcMethod: "tools/call", tool });
    expect(request).toMatchObject({ session, status: 200 });
    expect(request!.headers.has("mcp-protocol-version")).toBe(true);
    expect(others).toEqual([]);
    expect(sessionIdOf(later.snapshot) === sessionIdOf(first.snapshot)).toBe(true);
    snapshot = later.snapshot;
  }

  const listing = await runStep({ ...step, snapshot });
  expect(listing.error).toBeUndefined();
  expect(listing.tools).toEqual(first.tools);
  expect(proxy.requests.splice(0)).toEqual([]);
}
