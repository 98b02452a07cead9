import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import {
  createConnectionProvider,
  type ConnectionEvent,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { clientNames, loadClient } from "../clients/index.ts";
import { startTcpProxy } from "./tcp-proxy.ts";

const servers = { notebook: startNotebookServer, asking: startAskingServer };
const principal = { type: "app" } as const;
const places = ["request", "answer"] as const;

/** A server whose network breaks a connection that the client has used before. */
async function start(name: keyof typeof servers) {
  const server = await servers[name]();
  const proxy = await startTcpProxy(Number(new URL(server.url).port));
  onTestFinished(proxy.close);
  const url = `http://127.0.0.1:${proxy.port}/mcp`;
  // They are kept alive, and used again.
  await Promise.all([1, 2].map(async () => (await fetch(url, { method: "PUT" })).text()));
  const received = (method: string) =>
    server.log.filter((each) => each === `POST ${method}`).length;
  return { proxy, url, received };
}

/** What each step begins with. A stateful one asks a server of both eras for a session first. */
const beginnings = [
  ["notebook", "stateful", ["initialize", "tools/list"]],
  ["notebook", "stateless", ["server/discover", "initialize", "tools/list"]],
  ["asking", "stateful", ["initialize", "server/discover", "tools/list"]],
  ["asking", "stateless", ["server/discover", "tools/list"]],
] as const;
const cases = beginnings.flatMap(([name, session, methods]) =>
  methods.flatMap((method) => places.map((at) => [name, session, method, at] as const)),
);

describe("a reset at the beginning of a step", () => {
  test.each(cases)("of %s, %s: %s, at its %s", async (name, session, method, at) => {
    const { proxy, url, received } = await start(name);
    const events: ConnectionEvent[] = [];
    const provider = createConnectionProvider({
      connections: { notes: defineMcpClientConnection({ url, description: "Notes.", session }) },
      onEvent: { every: (event) => void events.push(event) },
    });
    proxy.resetOnce(`"method":"${method}"`, at);
    const run = provider.create({ principal });
    expect(Object.keys(await run.tools())).not.toEqual([]);
    await run.dispose();
    expect(proxy.resets()).toBe(1);
    expect(received(method)).toBe(at === "request" ? 1 : 2);
    expect(events.map(({ type }) => type)).not.toContain("unavailable");
  });

  const alone = clientNames.flatMap((client) =>
    ["initialize", "tools/list"].flatMap((method) =>
      places.map((at) => [client, method, at] as const),
    ),
  );
  test.each(alone)("of core's fetch alone, under %s: %s, at its %s", async (name, method, at) => {
    const { proxy, url, received } = await start("notebook");
    const connect = await loadClient(name);
    proxy.resetOnce(`"method":"${method}"`, at);
    const slot = createSessionSlot();
    const client = await connect({ url, fetch: createSessionFetch({ url, slot }) });
    expect(await client.listTools()).toContain("add_note");
    await client.close();
    expect(proxy.resets()).toBe(1);
    expect(received(method)).toBe(at === "request" ? 1 : 2);
  });
});

test.each(places)("a call that meets a reset at its %s is not sent again", async (at) => {
  const { proxy, url, received } = await start("notebook");
  const connections = {
    notes: defineMcpClientConnection({ url, description: "Notes.", session: "stateless" }),
  };
  const run = createConnectionProvider({ connections }).create({ principal });
  await run.tools();
  proxy.resetOnce(`"method":"tools/call"`, at);
  const calling = run.call("notes", "add_note", { text: "tools/list" });
  await expect(calling).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  await run.dispose();
  expect(received("tools/call")).toBe(at === "request" ? 0 : 1);
});
