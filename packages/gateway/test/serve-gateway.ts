import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import {
  defineMcpStdioConnection,
  type McpStdioConnectionOptions,
} from "@durable-mcp/ai-sdk/stdio";
import { createMemoryStore, createPrincipals, type SessionStore } from "@durable-mcp/core";
import { toNodeHandler } from "@durable-mcp/server/node";
import { onTestFinished } from "vitest";
import { createGateway } from "../src/create-gateway.ts";
import type { GatewayOptions } from "../src/base/gateway-options.ts";

const { user } = createPrincipals({ issuer: "https://shop.example" });

/** A program as the only connection. */
export function programOptions(
  args: readonly string[] = [],
  options: Partial<McpStdioConnectionOptions> = {},
): Partial<GatewayOptions> {
  const program = fileURLToPath(new URL("counting-program.ts", import.meta.url));
  const definition = {
    command: process.execPath,
    args: [program, ...args],
    description: "Counts.",
  };
  const timeouts = { closeMs: 300 };
  const shop = defineMcpStdioConnection({ ...definition, timeouts, ...options });
  return { connections: { shop }, processes: "one" };
}

/** Serves a gateway of one connection, `shop`, to that URL. The token of a request names its user. */
export async function serveGateway(
  url: string,
  {
    store = createMemoryStore(),
    connection = {},
    port: wanted = 0,
    ...options
  }: Partial<GatewayOptions> & {
    store?: SessionStore;
    connection?: object;
    /** The port of a process that is gone. */
    port?: number;
  } = {},
) {
  const gateway = createGateway({
    connections: {
      shop: defineMcpClientConnection({ url, description: "The shop.", ...connection }),
    },
    store,
    principal: (request) => {
      const token = request.headers.get("authorization")?.replace("Bearer ", "");
      return token === undefined ? undefined : user(token);
    },
    onEvent: () => undefined,
    ...options,
  });
  const server = createServer(toNodeHandler(gateway.fetch));
  await new Promise<void>((resolve) => {
    server.listen(wanted, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  /** Breaks all connections, as a process that is killed. */
  const kill = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    // So long clients need to notice.
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  };
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await gateway.shutdown({ timeoutMs: 100 });
  });
  return { gateway, store, url: `http://127.0.0.1:${port}/mcp/shop`, port, kill };
}
