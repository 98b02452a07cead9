import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { afterEach, describe, expect, test } from "vitest";
import { packageBin } from "../processes/package-bin.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";
import { callForText, callTool, stdioFixture } from "./stdio-fixture.ts";

const { command, args } = stdioFixture();

/** Programs that put a stdio server behind Streamable HTTP. */
const gateways = {
  /** One process for everybody: what one session keeps, the others see. */
  "mcp-proxy": (port: number) => [
    packageBin("mcp-proxy"),
    ...["--port", String(port), "--host", "127.0.0.1", "--server", "stream", "--"],
    ...[command, ...args],
  ],
  /** A process for each session. */
  supergateway: (port: number) => [
    packageBin("supergateway"),
    ...["--stdio", [command, ...args].join(" ")],
    ...["--outputTransport", "streamableHttp", "--stateful", "--port", String(port)],
  ],
};

describe.each(Object.entries(gateways))("a stdio server behind %s", (name, argumentsFor) => {
  let gateway: TestServer | undefined;
  afterEach(async () => {
    await gateway?.stop();
  });

  const isShared = name === "mcp-proxy";

  test(`keeps its process over the steps of an agent session, ${isShared ? "and shares it" : "one for each"}`, async () => {
    gateway = await startServerProcess({ name, args: argumentsFor });
    const provider = createConnectionProvider({
      connections: {
        fixture: defineMcpClientConnection({
          url: gateway.url,
          description: "A stdio server behind HTTP.",
          session: "stateful",
        }),
      },
    });
    /** A step as a process takes it: the state comes and goes as JSON. */
    const add = async (text: string, id: string, saved = "{}") => {
      const session = JSON.parse(saved) as { state?: unknown };
      const principal = { type: "user", issuer: "https://idp.test", id } as const;
      const registry = provider.create({ state: session.state, principal });
      try {
        const tools = await registry.tools({ onUnavailable: "throw" });
        await callTool(tools, "add_note", { text });
        return {
          notes: await callForText(tools, "list_notes"),
          pid: await callForText(tools, "pid"),
          saved: JSON.stringify(provider.commit(registry, session)),
        };
      } finally {
        await registry.dispose();
      }
    };
    const first = await add("a", "alice");
    const other = await add("b", "bob");
    const second = await add("c", "alice", first.saved);
    expect(second.pid).toBe(first.pid);
    expect(other.pid === first.pid).toBe(isShared);
    expect([other.notes, second.notes]).toEqual(isShared ? ["a, b", "a, b, c"] : ["b", "a, c"]);
  });
});
