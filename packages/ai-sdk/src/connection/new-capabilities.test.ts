/** A deployment that declares a capability while sessions go on that were made without it. */
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { collectEvents } from "../../test/collect-events.ts";
import { type NotebookServer, startNotebookServer } from "../../test/notebook-server.ts";
import { alice, callTool } from "../../test/step.ts";
import { createDurableSessions } from "../sessions/create-durable-sessions.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { createConnectionProvider } from "../sessions/create-connection-provider.ts";
import type { ConnectionRun } from "../run/connection-run.ts";
import { missingCapabilities } from "./client-capabilities.ts";
import type { McpClientConnectionOptions } from "./connection-options.ts";
import { defineMcpClientConnection } from "./define-connection.ts";

type Options = Partial<McpClientConnectionOptions>;

const asking: Options = { onElicitation: () => ({ action: "cancel" }) };
const session = { mode: "stateful", restartOnNewCapabilities: true } as const;

const define = ({ url }: NotebookServer, options: Options) =>
  defineMcpClientConnection({ url, description: "Notes.", session: "stateful", ...options });

/** Releases of an application, one after another, on the sessions of the ones before. */
async function startReleases(kept: "state" | "store") {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  let carried: { state?: unknown } = {};
  const release = async (
    options: Options,
    use: (registry: ConnectionRun<any>) => Promise<unknown>,
  ): Promise<ConnectionEvent[]> => {
    const { events, onEvent } = collectEvents();
    const provider = createConnectionProvider({
      connections: { notes: define(server, options) },
      onEvent,
    });
    if (kept === "store") {
      const sessions = createDurableSessions({ provider, store });
      await sessions.run("chat", { principal: alice }, (run) => use(run));
    } else {
      const registry = provider.create({ ...carried, principal: alice });
      await registry.enter(use);
      carried = JSON.parse(JSON.stringify(provider.commit(registry, carried))) as typeof carried;
    }
    return events.filter(({ type }) => type !== "notification");
  };
  /** The capabilities of each handshake. */
  const handshakes = () =>
    server.requests.flatMap(({ message }) =>
      message?.method === "initialize" ? [Object.keys(message.params.capabilities)] : [],
    );
  return { server, release, handshakes };
}

const list = async (registry: ConnectionRun<any>) =>
  await callTool(await registry.tools(), "notes__list_notes");
const add = async (registry: ConnectionRun<any>) =>
  await registry.call("notes", "add_note", { text: "milk" });
const inNamed = async (registry: ConnectionRun<any>) =>
  await registry.named.run("research", (own) => add(own));
const typesOf = (events: ConnectionEvent[]) => events.map(({ type }) => type);

describe.each(["state", "store"] as const)("a session kept in the %s", (kept) => {
  test("goes on with what it was made with, and an event says so once a step", async () => {
    const { server, release } = await startReleases(kept);
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
    const { server, release, handshakes } = await startReleases(kept);
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
    const { server, release } = await startReleases(kept);
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
    const { server, release } = await startReleases(kept);
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
  const { server, release } = await startReleases("state");
  await release({}, add);
  expect(await release({ ...asking, session }, () => Promise.resolve())).toEqual([]);
  expect(typesOf(await release({ session }, list))).toEqual(["resumed"]);
  expect(server.log).not.toContain("DELETE");
});

test("all that a connection can declare is found again in its session", async () => {
  const { release } = await startReleases("state");
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
