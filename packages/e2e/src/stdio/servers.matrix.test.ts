import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnectionProvider } from "@durable-mcp/ai-sdk";
import {
  defineMcpStdioConnection,
  type McpStdioConnectionOptions,
} from "@durable-mcp/ai-sdk/stdio";
import type { ToolSet } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { programArguments } from "../processes/programs.ts";
import { packageBin } from "../processes/package-bin.ts";
import { callForText, callTool } from "./stdio-fixture.ts";

async function withServer(
  options: Pick<McpStdioConnectionOptions, "args"> & Partial<McpStdioConnectionOptions>,
  use: (tools: ToolSet, protocolVersion: string) => Promise<void>,
): Promise<void> {
  const provider = createConnectionProvider({
    connections: {
      fixture: defineMcpStdioConnection({
        command: process.execPath,
        description: "A server.",
        ...options,
      }),
    },
  });
  await using registry = provider.create({});
  const client = await registry.client("fixture");
  await use(
    await registry.tools({ onUnavailable: "throw" }),
    client.initializeResult.protocolVersion,
  );
}

test("server-memory keeps its graph in a file that env names", async () => {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-memory-"));
  const path = join(folder, "graph.jsonl");
  const options = {
    args: [packageBin("@modelcontextprotocol/server-memory")],
    env: { MEMORY_FILE_PATH: path },
  };
  const ada = { name: "Ada", entityType: "person", observations: ["counts"] };
  try {
    await withServer(options, async (tools) => {
      await callTool(tools, "create_entities", { entities: [ada] });
    });
    expect(readFileSync(path, "utf8")).toContain("Ada");
    await withServer(options, async (tools) => {
      expect(await callForText(tools, "read_graph")).toContain("Ada");
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("server-everything answers, asks its user, and is behind a shell", async () => {
  const questions: string[] = [];
  await withServer(
    {
      command: "sh",
      args: [
        "-c",
        `'${process.execPath}' '${packageBin("@modelcontextprotocol/server-everything")}'`,
      ],
      tools: { allow: ["echo", "get-sum", "trigger-elicitation-request"] },
      onElicitation({ params }) {
        questions.push(params.message);
        return { action: "decline" };
      },
    },
    async (tools) => {
      expect(await callForText(tools, "echo", { message: "hello" })).toBe("Echo: hello");
      await callTool(tools, "trigger-elicitation-request");
      expect(questions).toHaveLength(1);
      expect(Object.keys(tools)).toHaveLength(3);
    },
  );
});

test("typed tools are validated", async () => {
  const provider = createConnectionProvider({
    connections: {
      fixture: defineMcpStdioConnection({
        command: process.execPath,
        args: [packageBin("@modelcontextprotocol/server-everything")],
        description: "A server.",
        schemas: { echo: { inputSchema: z.object({ message: z.string() }) } },
      }),
    },
  });
  await using registry = provider.create({});
  const { fixture__echo: echo, ...others } = await registry.tools();
  expect(others).toEqual({});
  const options = { toolCallId: "call-1", messages: [], context: {} };
  expect(await echo?.execute?.({ message: "typed" }, options)).toMatchObject({
    content: [{ text: "Echo: typed" }],
  });
});

test.each([
  ["both eras gets a handshake", [], "2025-11-25"],
  ["the new era alone is asked what it speaks", ["--modern-only"], "2026-07-28"],
])("a server of %s", async (_, flags, version) => {
  const server = new URL("../fixtures/sdk-v2-stdio-server.ts", import.meta.url);
  await withServer(
    { args: [...programArguments(server), ...flags] },
    async (tools, protocolVersion) => {
      expect(protocolVersion).toBe(version);
      expect(await callForText(tools, "add_note", { text: "a" })).toContain("1");
    },
  );
});
