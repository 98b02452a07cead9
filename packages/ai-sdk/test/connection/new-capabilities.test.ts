/** A deployment that declares a capability while sessions go on that were made without it. */
import { describe, expect, test } from "vitest";
import { type Backend, backends, type Run, startAgent } from "../agent-session.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { callTool, startApplication } from "../step.ts";
import type { ConnectionEvent } from "../../../sessions/src/events/connection-event.ts";
import { missingCapabilities } from "../../../sessions/src/connection/client-capabilities.ts";
import type { McpClientConnectionOptions } from "../../src/index.ts";

type Options = Partial<McpClientConnectionOptions>;

const asking: Options = { onElicitation: () => ({ action: "cancel" }) };
const session = { mode: "stateful", restartOnNewCapabilities: true } as const;

/** Releases of an application, one after another, on the sessions of the ones before. */
async function startReleases(backend: Backend) {
  const server = await startNotebookServer();
  const agent = startAgent(backend, {});
  const release = async (options: Options, use: (run: Run) => unknown) => {
    agent.events.length = 0;
    await agent.as({ notes: notebook(server, options) }).step(use);
    return agent.events.filter(({ type }) => type !== "notification");
  };
  const handshakes = () =>
    server.requests.flatMap(({ message }) =>
      message?.method === "initialize" ? [Object.keys(message.params.capabilities)] : [],
    );
  return { server, release, handshakes };
}

const list = async (registry: Run) => await callTool(await registry.tools(), "notes__list_notes");
const add = async (registry: Run) => await registry.call("notes", "add_note", { text: "milk" });
const inNamed = async (registry: Run) => await registry.named.run("research", (own) => add(own));
const typesOf = (events: ConnectionEvent[]) => events.map(({ type }) => type);

describe.each(backends)("a session kept in %s", (backend) => {
  test("goes on with what it was made with, and an event says so once a step", async () => {
    const { server, release } = await startReleases(backend);
    await release({}, add);
    const told = {
      type: "capabilities-missing",
      connection: "notes",
      capabilities: ["elicitation"],
      isRestarted: false,
    };
    expect(await release(asking, list)).toEqual([expect.anything(), told]);
    expect(await release(asking, list)).toContainEqual(told);
    expect(server.sessionIds).toHaveLength(1);
    expect(typesOf(await release({}, list))).toEqual(["resumed"]);
  });

  test("is replaced where that is asked for: once, it is ended, and the model is told", async () => {
    const { server, release, handshakes } = await startReleases(backend);
    await release({}, add);
    let result: unknown;
    const events = await release({ ...asking, session }, async (registry) => {
      result = await list(registry);
    });
    expect(result).toMatchObject({ _meta: { "durable-mcp/sessionReplaced": true } });
    expect(events).toContainEqual({
      type: "capabilities-missing",
      connection: "notes",
      capabilities: ["elicitation"],
      isRestarted: true,
    });
    expect(typesOf(events)).toContain("recovered");
    expect(handshakes()).toEqual([[], ["elicitation"]]);
    expect(server.liveSessions()).toBe(1);
    expect(typesOf(await release({ ...asking, session }, list))).toEqual(["resumed"]);
    // The release before runs beside it for a while.
    expect(typesOf(await release({ session }, list))).toEqual(["resumed"]);
    expect(server.sessionIds).toHaveLength(2);
  });

  test("stays if no other can be made", async () => {
    const { server, release } = await startReleases(backend);
    await release({}, add);
    server.intercept(({ message }, response) =>
      message?.method === "initialize" ? void response.writeHead(503).end() : "next",
    );
    expect(typesOf(await release({ ...asking, session }, (own) => own.tools()))).toContain(
      "unavailable",
    );
    server.intercept(() => "next");
    expect(typesOf(await release({}, list))).toEqual(["resumed"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("with a name is replaced, too", async () => {
    const { server, release } = await startReleases(backend);
    await release({}, async (registry) => {
      await registry.named.create("research");
      await inNamed(registry);
    });
    await release({ ...asking, session }, () => Promise.resolve());
    const before = server.liveSessions();
    const events = await release({ ...asking, session }, inNamed);
    expect(events).toContainEqual({
      type: "capabilities-missing",
      connection: "notes",
      name: "research",
      capabilities: ["elicitation"],
      isRestarted: true,
    });
    expect(server.liveSessions()).toBe(before);
    expect(typesOf(await release({ ...asking, session }, inNamed))).not.toContain("recovered");
  });
});

test("a session that no step uses stays as it is", async () => {
  const server = await startNotebookServer();
  const before = await startApplication({ notes: notebook(server, {}) }).step({}, add);
  const later = startApplication({ notes: notebook(server, { ...asking, session }) });
  expect(await later.step(before, () => undefined)).toEqual(before);
  expect(later.events).toEqual([]);
  expect(server.log).not.toContain("DELETE");
});

test("all that a connection can declare is found again in its session", async () => {
  const { release } = await startReleases("carried state");
  const capabilities = {
    elicitation: { form: {}, url: {} },
    sampling: {},
    roots: { listChanged: true },
    experimental: { "acme/thing": { depth: 2 } },
  } as Options["capabilities"];
  await release({ capabilities }, add);
  expect(typesOf(await release({ capabilities }, list))).toEqual(["resumed"]);
});

test("a part of a capability may be missing; more than is declared is not", () => {
  const capabilities = { elicitation: { form: {}, url: {} } } as Options["capabilities"];
  expect(missingCapabilities({ capabilities }, { elicitation: { form: {} } })).toEqual([
    "elicitation",
  ]);
  const made = { elicitation: { url: {}, form: {}, other: {} }, sampling: {} };
  expect(missingCapabilities({ capabilities }, made)).toEqual([]);
});
