import { McpSessionError } from "@durable-mcp/core";
import { expect, test, vi } from "vitest";
import {
  type NotebookServer,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { notebook, startNotes } from "../saved-session.ts";
import { alice, startApplication } from "../step.ts";
import { defineMcpClientConnection } from "../../src/index.ts";

/** A busy machine takes its time. */
const patient = { timeout: 10_000 };

async function startServer() {
  const server = await startNotebookServer();
  return { server, ...startApplication({ notes: notebook(server) }) };
}

/** Has the server refuse the handshakes until it is told to accept them. */
function refuseHandshakes(server: NotebookServer, status: number) {
  let refused = 0;
  server.intercept(
    on("POST", (request, response) => {
      if (
        request.message?.method !== "initialize" &&
        request.headers["mcp-session-id"] !== undefined
      ) {
        return "next";
      }
      refused += 1;
      response.writeHead(status).end();
      return undefined;
    }),
  );
  return { count: () => refused, accept: () => server.intercept(() => "next") };
}

test("resolves when the server answers, and what follows uses the same session", async () => {
  const { server, step } = await startServer();
  await step({}, async (registry) => {
    await registry.ready("notes");
    await registry.call("notes", "add_note", { text: "a" });
  });
  expect(server.sessionIds).toHaveLength(1);
});

test.each([500, 502, 503, 404])("waits for a server that still answers %i", async (status) => {
  const { server, step } = await startServer();
  const refusal = refuseHandshakes(server, status);
  await step({}, async (registry) => {
    let isReady = false;
    const waiting = registry.ready("notes").then(() => (isReady = true));
    await vi.waitFor(() => expect(refusal.count()).toBeGreaterThan(2), patient);
    expect(isReady).toBe(false);
    refusal.accept();
    await waiting;
    await registry.call("notes", "add_note", { text: "a" });
  });
  expect(server.sessionIds).toHaveLength(1);
});

test("waits for a server that cannot be reached yet", async () => {
  const { server, step, takeEvents } = await startServer();
  server.intercept((_, response) => void response.destroy());
  await step({}, async (registry) => {
    await expect(registry.call("notes", "list_notes")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
    });
    const before = server.requests.length;
    const waiting = registry.ready("notes");
    await vi.waitFor(() => expect(server.requests.length).toBeGreaterThan(before + 1), patient);
    server.intercept(() => "next");
    await waiting;
    expect(server.sessionIds).toHaveLength(1);
  });
  expect(takeEvents()).toContain("started");
});

test("asks the server for a session that was saved", async () => {
  const { server, step } = await startServer();
  const session = await step({}, (registry) => registry.ready("notes"));
  server.requests.length = 0;
  await step(session, (registry) => registry.ready("notes"));
  expect(server.log).toEqual(["POST ping"]);
  server.forgetSessions();
  server.requests.length = 0;
  await step(session, async (registry) => {
    await registry.ready("notes");
    expect(server.log).toContain("POST initialize");
    await registry.call("notes", "add_note", { text: "a" });
  });
  expect(server.liveSessions()).toBe(1);
});

test("gives up after its time, with what the server said last", async () => {
  const { server, step } = await startServer();
  refuseHandshakes(server, 503);
  await step({}, async (registry) => {
    const waiting = registry.ready("notes", { timeoutMs: 2_000 });
    await expect(waiting).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message: expect.stringContaining("within 2000 ms"),
      data: { connection: "notes", origin: server.origin },
      cause: { code: "CONNECTION_UNAVAILABLE", data: { status: 503 } },
    });
  });
});

test("gives up after its time when the server does not answer at all", async () => {
  const { server, step } = await startNotes({
    // As long as dispose waits for the handshake.
    timeouts: { connectMs: 500 },
  });
  server.intercept(() => undefined);
  await step({}, async (registry) => {
    await expect(registry.ready("notes", { timeoutMs: 300 })).rejects.toThrow("within 300 ms");
  });
});

test.each([401, 403])("does not wait for what waiting does not change: %i", async (status) => {
  const { server, step } = await startServer();
  const refusal = refuseHandshakes(server, status);
  await step({}, async (registry) => {
    await expect(registry.ready("notes")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { status },
    });
  });
  // The probe and the handshake.
  expect(refusal.count()).toBeLessThanOrEqual(2);
});

test.each([
  {
    failure: new Error("nobody is logged in"),
    told: { code: "CONNECTION_UNAVAILABLE", data: { field: "auth.getToken" } },
  },
  {
    failure: new McpSessionError("STORE_FAILED", "The store of the tokens is down."),
    told: { code: "STORE_FAILED" },
  },
])("does not wait when the application's own token cannot be had: $told.code", async (row) => {
  const { url } = await startNotebookServer();
  let asked = 0;
  const { step } = startApplication({
    notes: defineMcpClientConnection({
      url,
      description: "A notebook.",
      session: "stateful",
      auth: {
        getToken() {
          asked += 1;
          throw row.failure;
        },
      },
    }),
  });
  await step({}, async (registry) => {
    await expect(registry.ready("notes", { timeoutMs: 5_000 })).rejects.toMatchObject(row.told);
  });
  expect(asked).toBe(1);
});

test("ends with the caller's signal and with the run", async () => {
  const { server, provider } = await startServer();
  const refusal = refuseHandshakes(server, 503);
  const registry = provider.create({ principal: alice });
  const aborting = new AbortController();
  const waiting = registry.ready("notes", { abortSignal: aborting.signal });
  await vi.waitFor(() => expect(refusal.count()).toBeGreaterThan(0), patient);
  aborting.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  const other = Promise.allSettled([registry.ready("notes")]);
  await registry.dispose();
  expect(await other).toMatchObject([{ reason: { name: "AbortError" } }]);
  await expect(registry.ready("notes")).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
});
