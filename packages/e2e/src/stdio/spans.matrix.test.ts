import { createConnectionProvider } from "@durable-mcp/ai-sdk";
import { openTelemetry } from "@durable-mcp/ai-sdk/opentelemetry";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { collectSpans } from "../../../sessions/test/collect-spans.ts";
import { callForText, callTool, stdioFixture } from "./stdio-fixture.ts";

const { spans, find, outline, reset } = collectSpans();
beforeEach(reset);

function openTraced({ manner = "", propagate = false } = {}) {
  const { command, args } = stdioFixture(manner);
  const events: string[] = [];
  const provider = createConnectionProvider({
    connections: {
      fixture: defineMcpStdioConnection({
        command,
        args,
        description: "A fixture.",
        env: { API_KEY: "canary-key" },
        timeouts: { closeMs: 200 },
      }),
    },
    onEvent: { every: ({ type }) => events.push(type) },
    telemetry: openTelemetry({ propagate }),
  });
  return Object.assign(provider.create({}), { events });
}

describe("the spans of a stdio connection", () => {
  test("nest, and say that it is a pipe to no address", async () => {
    await using registry = openTraced();
    await callTool(await registry.tools(), "list_notes");
    expect(outline()).toBe("tools/list\n  initialize\ntools/call list_notes");
    expect(find("initialize").attributes).toEqual({
      "mcp.method.name": "initialize",
      "mcp.protocol.version": "2025-11-25",
      "durable_mcp.connection": "fixture",
      "durable_mcp.session": "started",
      "network.transport": "pipe",
    });
  });

  test("show the process that takes a dead one's place as a recovery", async () => {
    await using registry = openTraced();
    const tools = await registry.tools();
    process.kill(Number(await callForText(tools, "pid")), "SIGKILL");
    await vi.waitFor(() => expect(registry.events).toContain("lost"), { timeout: 10_000 });
    reset();
    await callTool(tools, "list_notes");
    expect(outline()).toBe("tools/call list_notes\n  recover");
    expect(find("recover").attributes).toEqual({
      "mcp.protocol.version": "2025-11-25",
      "durable_mcp.connection": "fixture",
      "durable_mcp.session": "recovered",
      "network.transport": "pipe",
    });
  });

  test("hold nothing of the environment or of what the server printed", async () => {
    await using registry = openTraced({ manner: "exit" });
    expect(await registry.tools()).toEqual({});
    expect(find("initialize").attributes["error.type"]).toBe("CONNECTION_UNAVAILABLE");
    expect(find("initialize").status).not.toHaveProperty("message");
    const printed = JSON.stringify(spans().map(({ attributes, events }) => [attributes, events]));
    expect(printed).not.toMatch(/canary|No config/);
  });
});
