import { createFaultyServer } from "@durable-mcp/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { connectClient2, connectSdk1, textOf } from "../../test/clients.ts";
import { serveGateway } from "../../test/serve-gateway.ts";

async function startCounter(era: "2025-11-25" | "both" = "2025-11-25") {
  const server = await createFaultyServer({
    era,
    tools: {
      count(_, { session }) {
        session["count"] = Number(session["count"] ?? 0) + 1;
        return `count ${session["count"]}`;
      },
    },
  });
  onTestFinished(() => server.close());
  return server;
}

const count = { name: "count", arguments: {} };

describe.each([
  ["@modelcontextprotocol/sdk 1", connectSdk1],
  ["@modelcontextprotocol/client 2", connectClient2],
])("%s", (_, connect) => {
  test("goes on in its session when the gateway's process is another", async () => {
    const server = await startCounter();
    const { url, store, kill, port } = await serveGateway(server.url);
    const client = await connect(url);
    expect(textOf(await client.callTool(count))).toBe("count 1");
    await kill();
    await serveGateway(server.url, { store, port });
    expect(textOf(await client.callTool(count))).toBe("count 2");
  });

  test("goes on in a new session when the server has forgotten, and reads so once", async () => {
    const server = await startCounter();
    const { url } = await serveGateway(server.url);
    const client = await connect(url);
    await client.callTool(count);
    server.forgetSessions();
    const after = await client.callTool(count);
    expect(textOf(after)).toBe("count 1");
    expect(JSON.stringify(after)).toContain("had forgotten this session");
    expect(JSON.stringify(await client.callTool(count))).not.toContain("forgotten");
  });
});
