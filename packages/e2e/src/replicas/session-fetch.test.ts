import { type FaultyProxy, createFaultyProxy } from "@durable-mcp/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { wrongAnswers } from "../stateful/call-outcomes.ts";
import { clientNames } from "../clients/index.ts";
import { share } from "../matrix/pairs.ts";
import { runStep } from "../steps/run-step.ts";
import type { TestServer } from "../servers/server-process.ts";
import { sessionIdOf } from "../steps/session-id-canary.ts";
import { notesServer } from "./notes-replicas.ts";
import { openTestStore, type TestStore } from "../durable/store-place.ts";

let store: TestStore;
let server: TestServer;
let proxy: FaultyProxy;

beforeAll(async () => {
  store = await openTestStore("sqlite");
  server = await notesServer(store.location).startReplica();
  proxy = await createFaultyProxy({ target: server.url });
});
afterAll(async () => {
  await proxy?.close();
  await server?.stop();
  await store?.close();
});

// Other servers meet the other clients.
test.each(share(clientNames, 1))(
  "%s on the session fetch goes on, with one request, in a server that was killed (S5)",
  async (client) => {
    const add = { tool: "add_note", args: { text: `<${client}>` }, expected: "1 notes" };
    const first = await runStep({ client, url: proxy.url, list: true, calls: [add] });
    expect(wrongAnswers([add], first.results)).toEqual([]);

    await server.restart();
    proxy.requests.splice(0);
    const search = { tool: "search_notes", args: { text: "<" }, expected: `<${client}>` };
    const { snapshot } = first;
    const second = await runStep({ client, url: proxy.url, snapshot, list: true, calls: [search] });
    expect(wrongAnswers([search], second.results)).toEqual([]);
    expect(sessionIdOf(second.snapshot) === sessionIdOf(first.snapshot)).toBe(true);
    expect(proxy.requests.splice(0).map(({ rpcMethod }) => rpcMethod)).toEqual(["tools/call"]);
  },
);
