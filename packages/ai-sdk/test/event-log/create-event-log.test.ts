import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpSessionError } from "@durable-mcp/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  type ConnectionEvent,
  createDurableSessions,
  defineMcpClientConnection,
} from "../../src/index.ts";
import { createMemoryStore } from "@durable-mcp/core";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { callTool } from "../step.ts";
import { createEventLog } from "../../../sessions/src/event-log/index.ts";

const folder = mkdtempSync(join(tmpdir(), "event-log-"));
let files = 0;
const nextPath = () => join(folder, `${(files += 1)}.jsonl`);
const linesOf = (path: string) => readFileSync(path, "utf8").split("\n").filter(Boolean);
const read = (path: string) =>
  linesOf(path).map((line) => JSON.parse(line) as Record<string, unknown>);
const resumed: ConnectionEvent = {
  ...{ type: "resumed", connection: "notes", protocolVersion: "2025-11-25" },
};

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
});

describe("an event log", () => {
  test("has a line for each event of a step, and no id, state or principal", async () => {
    const server = await startNotebookServer();
    const path = nextPath();
    const store = createMemoryStore();
    const run = async (chatId: string) => {
      const sessions = createDurableSessions({
        connections: {
          notes: defineMcpClientConnection({
            ...{ url: server.url, description: "A notebook.", session: "stateful" },
          }),
        },
        store,
        onEvent: createEventLog({ path }),
      });
      const principal = { type: "user", issuer: "https://idp.example", id: "alice-42" } as const;
      await sessions.run(chatId, { principal }, async (own) =>
        callTool(await own.tools(), "notes__add_note", { text: "a secret note" }),
      );
    };
    await run("chat-of-alice");
    await run("chat-of-alice");
    await run("another-chat");

    const lines = read(path);
    expect(lines.map(({ event }) => event)).toContain("resumed");
    const different = (key: string) => new Set(lines.map((line) => line[key])).size;
    // Each sessions object stands for a process.
    expect([different("process"), different("step"), different("session")]).toEqual([3, 3, 2]);
    const call = lines.find(({ operation, action }) => operation === "call" && action === "ended");
    expect(call).toEqual({
      ...{ v: 1, time: expect.stringMatching(/^\d{4}-.*Z$/), process: lines[0]!["process"] },
      ...{ step: lines[0]!["step"], session: expect.stringMatching(/^[\da-f]{8}$/) },
      ...{ connection: "notes", event: "operation", operation: "call", action: "ended" },
      ...{ tool: "add_note", number: expect.any(Number), durationMs: expect.any(Number) },
      outcome: "done",
    });
    const { records } = await store.list({ limit: 10 });
    const sessionIds = JSON.stringify(records).match(/sessionId\\?":\\?"([^"\\]+)/g)!;
    const text = readFileSync(path, "utf8");
    for (const secret of [
      ...sessionIds.map((found) => found.split('"').at(-1)!),
      ...["chat-of-alice", "another-chat", "alice-42", "idp.example", "a secret note"],
    ]) {
      expect(text).not.toContain(secret);
    }
    // Nothing has broken off before it.
    expect(text[0]).toBe("{");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("leaves out what servers have said, links, and ids of shared sessions", () => {
    const path = nextPath();
    const { every: log } = createEventLog({ path });
    const error = new McpSessionError("AUTHORIZATION_REQUIRED", "said by a server", {
      data: { status: 401 },
    });
    log({
      type: "authorization-required",
      connection: "a",
      shared: "team-7",
      scopes: ["x"],
      startUrl: "https://app.example/?ticket=1",
      error,
    });
    log({
      type: "notification",
      connection: "a",
      method: "notifications/message",
      params: { data: "said by a server" },
    });
    expect(readFileSync(path, "utf8")).not.toMatch(/said by|ticket|team-7/);
    expect(read(path)).toMatchObject([
      { event: "authorization-required", code: "AUTHORIZATION_REQUIRED", status: 401 },
      { event: "notification", method: "notifications/message" },
    ]);
  });

  test("cuts texts that are long, and lists", () => {
    const path = nextPath();
    const tools = Array.from({ length: 100 }, () => "x".repeat(10_000));
    createEventLog({ path }).every({
      type: "tools-unmatched",
      connection: "a",
      option: "tools.allow",
      tools,
    });
    const kept = Array.from({ length: 20 }, () => "x".repeat(200));
    expect(read(path)).toMatchObject([{ tools: kept }]);
  });

  test("goes on in a line of its own after one that broke off", () => {
    const path = nextPath();
    appendFileSync(path, '{"v":1,"time":"20');
    createEventLog({ path }).every(resumed);
    expect(linesOf(path)).toHaveLength(2);
    expect(JSON.parse(linesOf(path)[1]!)).toMatchObject({ event: "resumed" });
  });

  test("that cannot be written throws nothing, says so once, and later how much is missing", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const inFolder = join(folder, "later");
    const path = join(inFolder, "events.jsonl");
    const { every: log } = createEventLog({ path });
    log(resumed);
    log(resumed);
    expect(warn.mock.calls).toHaveLength(1);
    expect(warn.mock.calls[0]![0]).toMatch(
      /event log .* cannot be written.*ENOENT.*folder has to exist/,
    );
    mkdirSync(inFolder);
    log(resumed);
    log(resumed);
    expect(read(path).map(({ event, lost }) => [event, lost])).toEqual([
      ["log-gap", 2],
      ["resumed", undefined],
      ["resumed", undefined],
    ]);
  });

  test.each([
    ["no path", {}],
    ["an empty path", { path: "" }],
    ["a misspelt option", { path: "a", paths: "b" }],
  ])("refuses %s", (_, options) => {
    expect(() => createEventLog(options as { path: string })).toThrow(/path/);
  });
});
