import { join } from "node:path";
import type { MCPClient } from "@ai-sdk/mcp";
import { currentConnections, withConnections } from "@durable-mcp/ai-sdk";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import { describe, expect, test, vi } from "vitest";
import { processesWith } from "../processes/marked-processes.ts";
import {
  callForModel,
  callForText,
  callTool,
  inFolder,
  killServer,
  openFixture,
} from "./stdio-fixture.ts";

const listNotes = () => currentConnections().call("fixture", "list_notes");

/** Starts a server, gives it state, and has it die between calls. */
async function startAndLose(options: Parameters<typeof openFixture>[0] = {}) {
  const fixture = openFixture(options);
  const tools = await fixture.registry.tools();
  await callTool(tools, "add_note", { text: "kept" });
  await killServer(fixture, await callForText(tools, "pid"));
  return { ...fixture, tools };
}

describe("the process of a stdio server", () => {
  test("is one for all calls of a run, and another for the next run", async () => {
    const { registry, provider } = openFixture();
    const tools = await registry.tools();
    await Promise.all(["a", "b", "c"].map((text) => callTool(tools, "add_note", { text })));
    expect(await callForText(tools, "list_notes")).toBe("a, b, c");
    const pid = await callForText(tools, "pid");
    await registry.tools();
    const client = await registry.client("fixture");
    expect(await client.callTool({ name: "pid", arguments: {} })).toMatchObject({
      content: [{ text: pid }],
    });
    await registry.dispose();
    const session = { state: { own: 1 } };
    expect(provider.commit(registry, session)).toBe(session);

    await using next = provider.create(session);
    const nextTools = await next.tools();
    expect(await callForText(nextTools, "list_notes")).toBe("");
    expect(await callForText(nextTools, "pid")).not.toBe(pid);
  });

  test("is found by the runs inside, as the events tell", async () => {
    const { registry, clientEvents } = openFixture();
    const actions = () => clientEvents.splice(0).map((event) => "action" in event && event.action);
    await registry.enter(async () => {
      await Promise.all([listNotes(), listNotes()]);
      expect(actions()).toEqual(["miss", "opened"]);
      await withConnections({}, listNotes);
      expect(actions()).toEqual(["hit"]);
      await withConnections({ fixture: "isolate" }, listNotes);
      expect(actions()).toEqual(["miss", "opened", "closed"]);
    });
    expect(actions()).toEqual(["closed"]);
  });

  test("tells of itself, and is restarted: the model hears that its state is gone", async () => {
    await using fixture = openFixture();
    const { registry } = fixture;
    expect(await registry.status()).toMatchObject([
      { connection: "fixture", session: "process", connected: false, reason: "not-connected" },
    ]);
    const tools = await registry.tools();
    await callTool(tools, "add_note", { text: "kept" });
    const pid = await callForText(tools, "pid");
    expect(await registry.info()).toMatchObject([
      { connected: true, connectedSince: expect.any(Number), lastUsedAt: expect.any(Number) },
    ]);
    expect(await registry.status()).toMatchObject([{ alive: true }]);
    expect(await registry.restart("fixture")).toEqual({ connection: "fixture", ended: true });
    expect(await registry.info()).toMatchObject([{ connected: false }]);
    const result = await callTool(tools, "list_notes");
    expect(result).toMatchObject({ _meta: { "durable-mcp/sessionReplaced": true } });
    expect(await callForText(tools, "pid")).not.toBe(pid);
    await killServer(fixture, await callForText(tools, "pid"));
    expect(await registry.status()).toMatchObject([{ alive: false, reason: "lost" }]);
    expect(await registry.info()).toMatchObject([{ connected: false, kind: "lost" }]);
  });

  test("starts on first use, once for 100 parallel calls", async () => {
    await using fixture = openFixture();
    expect(processesWith(fixture.marker)).toEqual([]);
    const clients = await Promise.all(
      Array.from({ length: 100 }, () => fixture.registry.client("fixture")),
    );
    expect(new Set(clients).size).toBe(1);
    expect(processesWith(fixture.marker)).toHaveLength(1);
  });

  test("takes part without a principal, and says what lasts", async () => {
    await using fixture = openFixture();
    expect(fixture.registry.connections).toEqual([
      { name: "fixture", description: "A fixture.", session: "process" },
    ]);
  });

  test("has nothing to end, and no fetch", async () => {
    await using fixture = openFixture();
    const session = {};
    expect(
      await fixture.provider.end(session, {
        principal: { type: "app" },
        connection: "fixture",
      }),
    ).toEqual({ session, results: [] });
    expect(() => fixture.registry.fetch("fixture")).toThrow("runs over stdio");
  });

  test("inherits little of the environment, and gets what env says", async () => {
    process.env["OWN_SECRET"] = "not to be handed on";
    await using fixture = openFixture({
      env: { GREETING: "hello", WHO: ({ connection }) => Promise.resolve(connection) },
    });
    const text = await callForText(await fixture.registry.tools(), "environment");
    delete process.env["OWN_SECRET"];
    const environment = JSON.parse(text) as Record<string, string>;
    const known = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
    expect(environment).toMatchObject({ GREETING: "hello", WHO: "fixture" });
    expect(environment["PATH"]).toBe(process.env["PATH"]);
    expect(
      Object.keys(environment)
        .filter((name) => !known.includes(name))
        .toSorted(),
    ).toEqual(["DURABLE_MCP_STDIO", "GREETING", "WHO"]);
  });

  test("is told when a call is aborted", async () => {
    await using fixture = openFixture();
    const tools = await fixture.registry.tools();
    const stop = new AbortController();
    const waiting = Promise.allSettled([callTool(tools, "wait", {}, stop.signal)]);
    await vi.waitFor(() => expect(fixture.events.at(-1)?.type).toBe("notification"));
    stop.abort();
    expect(await waiting).toMatchObject([{ reason: { message: "Request was aborted" } }]);
    expect(await callForText(tools, "cancellations")).toBe("1");
  });

  test("may print to stdout what is no message", async () => {
    await using fixture = openFixture({ manner: "garbage" });
    const tools = await fixture.registry.tools();
    expect(await callForText(tools, "add_note", { text: "a" })).toBe("1");
  });

  test("answers within callMs, or the outcome is unknown", async () => {
    await using fixture = openFixture({ timeouts: { callMs: 300 } });
    const tools = await fixture.registry.tools();
    await expect(callTool(tools, "wait")).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      data: { origin: expect.stringMatching(/^stdio:node/), connection: "fixture" },
    });
    expect(await callForText(tools, "cancellations")).toBe("1");
  });
});

describe("a server that dies between calls", () => {
  test("is started once more, empty, and the model is told once", async () => {
    await using fixture = await startAndLose();
    expect(await callForModel(fixture.tools, "list_notes")).toEqual([
      expect.stringMatching(/^Note: .* is gone/),
      "",
    ]);
    expect(fixture.takeEvents()).toEqual([
      expect.objectContaining({ type: "started", changed: false }),
      { type: "lost", connection: "fixture", exitCode: null, signal: "SIGKILL" },
      expect.objectContaining({ type: "recovered", changed: false }),
    ]);
  });

  test("marks the first result for code, with a text of the application's or none", async () => {
    await using fixture = await startAndLose({ session: { lossNotice: false } });
    expect(await callTool(fixture.tools, "list_notes")).toHaveProperty("_meta", {
      "durable-mcp/sessionReplaced": true,
    });
    expect(await callTool(fixture.tools, "list_notes")).not.toHaveProperty("_meta");
  });

  test("is started once for parallel calls", async () => {
    await using fixture = await startAndLose();
    const pids = await Promise.all(
      Array.from({ length: 20 }, () => callForText(fixture.tools, "pid")),
    );
    expect(new Set(pids).size).toBe(1);
    expect(processesWith(fixture.marker)).toHaveLength(1);
  });

  test("right after it answered, does not lose the answer", async () => {
    await using fixture = openFixture();
    const tools = await fixture.registry.tools();
    expect(await callForText(tools, "answer_and_die")).toBe("done");
    await vi.waitFor(() => expect(fixture.events.at(-1)?.type).toBe("lost"), { timeout: 10_000 });
    expect(fixture.events.at(-1)).toMatchObject({ exitCode: 5, signal: null });
    expect(await callForText(tools, "list_notes")).toBe("");
  });

  test("is prepared again", async () => {
    const reasons: string[] = [];
    await using fixture = await startAndLose({
      session: {
        async onStart({ client, reason }) {
          reasons.push(reason);
          await client.callTool({ name: "add_note", arguments: { text: reason } });
        },
      },
    });
    expect(await callForText(fixture.tools, "list_notes")).toBe("recovered");
    expect(reasons).toEqual(["started", "recovered"]);
  });

  test("is SESSION_LOST with onLoss: report", async () => {
    await using fixture = await startAndLose({ session: { onLoss: "report" } });
    await expect(callTool(fixture.tools, "list_notes")).rejects.toMatchObject({
      code: "SESSION_LOST",
    });
    expect(processesWith(fixture.marker)).toEqual([]);
  });

  test("and again before it has answered anything, is SESSION_LOST, and tried with the next use", async () => {
    await using fixture = await startAndLose();
    const { registry } = fixture;
    await registry.client("fixture");
    const [pid = 0] = processesWith(fixture.marker);
    await killServer(fixture, String(pid));
    await expect(callTool(fixture.tools, "list_notes")).rejects.toMatchObject({
      code: "SESSION_LOST",
      message: expect.stringContaining("again"),
    });
    expect(await callForText(fixture.tools, "list_notes")).toBe("");
  });

  test("says to holders of its client where there is another", async () => {
    await using fixture = openFixture();
    const client = await fixture.registry.client("fixture");
    const list = { name: "list_notes", arguments: {} };
    await killServer(fixture, textOf(await client.callTool({ name: "pid", arguments: {} })));
    await expect(client.callTool(list)).rejects.toMatchObject({
      code: "SESSION_LOST",
      message: expect.stringContaining('client("fixture") again'),
    });
    expect(textOf(await (await fixture.registry.client("fixture")).callTool(list))).toBe("");
  });
});

describe("a server that dies in the middle of a call", () => {
  test("leaves its outcome unknown, quotes its stderr, and is started for the next one", async () => {
    await using fixture = openFixture();
    const tools = await fixture.registry.tools();
    await expect(callTool(tools, "die", { code: 9 })).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      message: expect.stringMatching(/^tools\/call at stdio:.* exit code 9 .*\nOut of memory\.$/s),
      data: { connection: "fixture", method: "tools/call" },
    });
    expect(await callTool(tools, "list_notes")).toHaveProperty("_meta");
  });

  test.each([
    ["a list", { resend: ["look"] }],
    ["resend: always", { resend: "always" }],
  ] as const)("runs a call again that may run twice: %s", async (_, session) => {
    await inFolder(async (folder) => {
      await using fixture = openFixture({ session });
      const tools = await fixture.registry.tools();
      expect(await callForText(tools, "look", { path: join(folder, "seen") })).toBe("seen");
      expect(fixture.takeEvents().map(({ type }) => type)).toEqual([
        "started",
        "lost",
        "recovered",
      ]);
    });
  });

  test.each([
    ["by default, whatever the server says of the tool", {}],
    ["with resend: never", { resend: "never" }],
  ] as const)("does not run it again %s", async (_, session) => {
    await inFolder(async (folder) => {
      await using fixture = openFixture({ session });
      const tools = await fixture.registry.tools();
      await expect(callTool(tools, "look", { path: join(folder, "seen") })).rejects.toMatchObject({
        code: "OUTCOME_UNKNOWN",
      });
    });
  });
});

test("a definition says which option is wrong", () => {
  const description = "A fixture.";
  expect(() => defineMcpStdioConnection({ command: "", description })).toThrow(
    "Connection option command must be a non-empty string without a null character.",
  );
  expect(() =>
    defineMcpStdioConnection({ command: "a", description, shell: true } as never),
  ).toThrow("Connection option shell is not a known option.");
  expect(() => defineMcpStdioConnection({ command: "a", args: ["\0"], description })).toThrow(
    "args[0] must be a string without a null character",
  );
  expect(() => defineMcpStdioConnection({ command: "a", env: { "A=B": "" }, description })).toThrow(
    "must be the name of an environment variable",
  );
});

function textOf({ content }: Awaited<ReturnType<MCPClient["callTool"]>>): string {
  return (content as { text: string }[])[0]!.text;
}
