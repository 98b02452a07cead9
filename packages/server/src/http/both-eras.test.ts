import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { listen } from "../../test/listen.ts";
import { createReplicas } from "../../test/replicas.ts";
import { toNodeHandler } from "../node.ts";

function createStateless() {
  const mcp = new McpServer({ name: "stateless", version: "1.0.0" });
  mcp.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
    content: [{ type: "text", text: `stateless ${text}` }],
  }));
  return mcp;
}

async function connect(url: string, mode: "legacy" | "auto") {
  const client = new Client({ name: "client", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

const textOf = (result: unknown) =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join();

test("2026-07-28 goes to the author's handler, older clients get sessions, on one URL", async () => {
  const stateless = createMcpHandler(createStateless, { legacy: "reject" });
  const { handler } = createReplicas().start({ stateless: (request) => stateless.fetch(request) });
  await using server = await listen(toNodeHandler(handler));

  const modern = await connect(server.url, "auto");
  expect(modern.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  expect(textOf(await modern.callTool({ name: "echo", arguments: { text: "a" } }))).toBe(
    "stateless a",
  );
  expect(handler.liveSessions).toBe(0);

  const older = await connect(server.url, "legacy");
  expect(textOf(await older.callTool({ name: "add", arguments: { text: "a" } }))).toBe("1 notes");
  expect(handler.liveSessions).toBe(1);
  await Promise.all([modern.close(), older.close()]);
});

test("without a handler for it a client that probes for 2026-07-28 falls back to a session", async () => {
  const { handler } = createReplicas().start();
  await using server = await listen(toNodeHandler(handler));
  const client = await connect(server.url, "auto");
  expect(client.getNegotiatedProtocolVersion()).toBe("2025-11-25");
  expect(textOf(await client.callTool({ name: "add", arguments: { text: "a" } }))).toBe("1 notes");
  await client.close();
});
