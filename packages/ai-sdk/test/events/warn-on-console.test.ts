/** What an application hears that gave no `onEvent`. */
import { createMemoryStore, McpSessionError } from "@durable-mcp/core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { collectEvents } from "../collect-events.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { alice } from "../step.ts";
import { createDurableAgent } from "../../src/agent/durable-agent.ts";
import {
  createConnectionProvider,
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";
import { createTeller, type OnEvent } from "../../../sessions/src/events/application-event.ts";
import type { ConnectionEvent } from "../../../sessions/src/events/connection-event.ts";

const warn = vi.spyOn(console, "warn");
beforeEach(() => void warn.mockReset().mockReturnValue(undefined));
afterEach(() => void warn.mockReset());
const warnings = () => warn.mock.calls.map(([text]) => String(text));

const define = (url: string, options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({ url, description: "Notes.", session: "stateful", ...options });

/** A server that only has `/mcp`, and an application that wrote `/mpc`. */
async function startWrong(onEvent?: OnEvent) {
  const server = await startNotebookServer();
  let status = 404;
  server.intercept((_, response) => void response.writeHead(status).end("Not here."));
  const connections = { notes: define(`${server.origin}/mpc`) };
  const sessions = createDurableSessions({ connections, store: createMemoryStore(), onEvent });
  const step = () =>
    sessions.run("chat", { principal: alice }, async (run) => Object.keys(await run.tools()));
  return { server, step, answer: (next: number) => void (status = next) };
}

test("a wrong URL is said once, with the connection, where it is, and why", async () => {
  const { server, step } = await startWrong();
  expect(await step()).toEqual([]);
  expect(warnings()).toEqual([expect.stringContaining("Connection notes: ")]);
  expect(warnings()[0]).toContain(server.origin);
  expect(warnings()[0]).toContain("404");
  await step();
  await step();
  expect(warnings()).toHaveLength(1);
});

test.each(["stateful", "stateless"] as const)(
  "a list that does not end is said once, and its tools are there: %s",
  async (session) => {
    const server = await startNotebookServer();
    server.intercept(({ message }, response) => {
      if (message?.method !== "tools/list") return "next";
      const tools = [{ name: "add", inputSchema: { type: "object" } }];
      const answer = { jsonrpc: "2.0", id: message.id, result: { tools, nextCursor: "again" } };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
      return undefined;
    });
    const connections = { notes: define(server.url, { session }) };
    const sessions = createDurableSessions({ connections, store: createMemoryStore() });
    const step = () =>
      sessions.run("chat", { principal: alice }, async (run) => Object.keys(await run.tools()));
    expect([await step(), await step()]).toEqual([["notes__add"], ["notes__add"]]);
    const text = expect.stringMatching(/^Connection notes: the answers to tools\/list do not end/);
    expect(warnings().filter((each) => !each.includes("keeps none"))).toEqual([text]);
  },
);

test("a sign-in that is missing is said once for what it is to grant", async () => {
  const server = await startNotebookServer();
  let scopes = ["notes:read"];
  const getToken = () => {
    const data = { scopes, startUrl: "https://app.test/start" };
    throw new McpSessionError("AUTHORIZATION_REQUIRED", "Sign in.", { data });
  };
  const connections = { notes: define(server.url, { auth: { getToken } }) };
  const sessions = createDurableSessions({ connections, store: createMemoryStore() });
  const step = () => sessions.run("chat", { principal: alice }, (run) => run.tools());
  await step();
  await step();
  expect(warnings()).toEqual([expect.stringContaining("Connection notes: Sign in.")]);
  scopes = ["notes:write"];
  await step();
  expect(warnings()).toHaveLength(2);
});

test("an answer that was perhaps lost is said once for its tool, and nothing when it has come", () => {
  const tell = createTeller(undefined);
  const event = { type: "answer-unsure", connection: "notes", tool: "order", round: 1 } as const;
  tell({ ...event, delivery: "delivered" });
  expect(warnings()).toEqual([]);
  for (let looks = 0; looks < 2; looks += 1) tell({ ...event, delivery: "unsure" });
  const text = "Connection notes: a person's answer to the question of order was perhaps lost";
  expect(warnings()).toEqual([expect.stringContaining(text)]);
});

test("another reason is said, too", async () => {
  const { step, answer } = await startWrong();
  await step();
  answer(503);
  await step();
  await step();
  expect(warnings()).toEqual([expect.stringContaining("404"), expect.stringContaining("503")]);
});

test("an application that listens is told each time, and the console stays empty", async () => {
  const { events, onEvent } = collectEvents();
  const { step } = await startWrong(onEvent);
  await step();
  await step();
  expect(events.map(({ type }) => type)).toEqual(["unavailable", "unavailable"]);
  expect(warnings()).toEqual([]);
});

async function listTwice(run: { tools(): Promise<object> }) {
  await run.tools();
  await run.tools();
}

const filters: [string, Partial<McpClientConnectionOptions>, string, string[]][] = [
  ["allow", { tools: { allow: ["add_note", "ad_note"] } }, "tools.allow", ["ad_note"]],
  ["block", { tools: { block: ["delete_all", "fail"] } }, "tools.block", ["delete_all"]],
  ["schemas", { schemas: { adds: { inputSchema: {} as any } } }, "schemas", ["adds"]],
];

test.each(filters)("a filter (%s) that names no tool is an event", async (_, options, ...told) => {
  const server = await startNotebookServer();
  const events: ConnectionEvent[] = [];
  const provider = createConnectionProvider({
    connections: { notes: define(server.url, options) },
    onEvent: { every: (event) => void (event.type === "tools-unmatched" && events.push(event)) },
  });
  const { session } = await provider.run({ session: {}, principal: alice }, listTwice);
  const [option, tools] = told;
  const event = { type: "tools-unmatched", connection: "notes", option, tools };
  expect(events).toEqual([event]);
  await provider.run({ session, principal: alice }, listTwice);
  expect(events).toEqual([event, event]);
  expect(warnings()).toEqual([]);
});

test.each(filters)("where nobody listens, it (%s) is said once", async (_, options, ...told) => {
  const server = await startNotebookServer();
  const connections = { notes: define(server.url, options) };
  const provider = createConnectionProvider({ connections });
  const [option, [tool]] = told;
  const run = () => provider.run({ session: {}, principal: alice }, (own) => own.tools());
  await run();
  await run();
  expect(warnings()).toEqual([expect.stringContaining(`Connection notes: ${option} names`)]);
  expect(warnings()[0]).toContain(`: ${tool}.`);
});

test("a filter is not compared with the tools of a server that is down", async () => {
  const { server } = await startWrong();
  const connections = { notes: define(server.url, { tools: { allow: ["add_note"] } }) };
  const provider = createConnectionProvider({ connections });
  await provider.run({ session: {}, principal: alice }, (run) => run.tools());
  expect(warnings()).toEqual([expect.stringContaining("404")]);
});

test("active tools of an agent that name no tool of a connection are an event", async () => {
  const server = await startNotebookServer();
  const events: ConnectionEvent[] = [];
  const agent = createDurableAgent({
    connections: { notes: define(server.url), down: define("http://127.0.0.1:1/mcp") },
    store: createMemoryStore(),
    onEvent: { every: (event) => void (event.type === "tools-unmatched" && events.push(event)) },
    model: scriptedModel("Done."),
    activeTools: ["notes__add_note", "notes__ad_note", "down__x"] as any,
  });
  await agent.generate({ prompt: "Hi", options: { sessionId: "chat", principal: alice } });
  const told = { connection: "notes", option: "activeTools", tools: ["notes__ad_note"] };
  expect(events).toEqual([{ type: "tools-unmatched", ...told }]);
});
