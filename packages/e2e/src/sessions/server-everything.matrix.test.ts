/** What a server has beside the results of its tools, from the reference server, over HTTP and stdio. */
import {
  type ConnectionRegistry,
  createConnectionProvider,
  defineMcpClientConnection,
  type ToolProgress,
} from "@durable-mcp/ai-sdk";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageBin } from "../processes/package-bin.ts";
import { startEverythingServer } from "../servers/everything.ts";
import type { TestServer } from "../servers/server-process.ts";

const description = "Everything.";
const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;

describe.each(["http", "stdio"] as const)("server-everything over %s", (transport) => {
  let server: TestServer | undefined;
  let registry: ConnectionRegistry;
  const seen: (ToolProgress & { tool: string })[] = [];

  const onProgress = (progress: ToolProgress, { tool }: { tool: string }) =>
    void seen.push({ ...progress, tool });

  beforeAll(async () => {
    server = transport === "http" ? await startEverythingServer() : undefined;
    const all =
      server === undefined
        ? defineMcpStdioConnection({
            command: process.execPath,
            args: [packageBin("@modelcontextprotocol/server-everything")],
            ...{ description, onProgress },
          })
        : defineMcpClientConnection({
            url: server.url,
            ...{ description, onProgress, session: "stateful" },
          });
    registry = createConnectionProvider({ connections: { all } }).create({ principal });
  });
  afterAll(async () => {
    await registry.dispose();
    await server?.stop();
  });

  test("reports the progress of a long call", async () => {
    const tool = "trigger-long-running-operation";
    const { content } = await registry.call("all", tool, { duration: 0.3, steps: 2 });
    expect(JSON.stringify(content)).toContain("Long running operation completed");
    expect(seen).toEqual([
      { progress: 1, total: 2, tool },
      { progress: 2, total: 2, tool },
    ]);
  });

  test("has resources", async () => {
    const client = await registry.client("all");
    const { resources } = await client.listResources();
    expect(resources.length).toBeGreaterThan(0);
    const { contents } = await client.readResource({ uri: resources[0]!.uri });
    expect(contents[0]).toMatchObject({ uri: resources[0]!.uri });
  });

  test("has prompts", async () => {
    const client = await registry.client("all");
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain("args-prompt");
    const { messages } = await client.getPrompt({
      name: "args-prompt",
      arguments: { city: "Oslo" },
    });
    expect(JSON.stringify(messages)).toContain("Oslo");
  });
});
