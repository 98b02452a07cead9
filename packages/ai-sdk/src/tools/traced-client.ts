import type { MCPClient } from "@ai-sdk/mcp";
import { isToolError } from "./bounded-call.ts";
import { traceNothing, type TraceOperation } from "../events/connection-telemetry.ts";

const tracedClients = new WeakMap<MCPClient, MCPClient>();

/** A client whose own `callTool` and `listTools` are traced; the same one for the same client. */
export function tracedClient(client: MCPClient, trace: TraceOperation): MCPClient {
  if (trace === traceNothing) return client;
  const known = tracedClients.get(client);
  if (known !== undefined) return known;

  const callTool: MCPClient["callTool"] = (options) =>
    trace({ operation: "call", tool: options.name }, async (note) => {
      const result = await client.callTool(options);
      note({ isToolError: isToolError(result) });
      return result;
    });
  const listTools: MCPClient["listTools"] = (options) =>
    trace({ operation: "list" }, () => client.listTools(options));
  const traced = new Proxy(client, {
    get(target, key) {
      if (key === "callTool") return callTool;
      if (key === "listTools") return listTools;
      return Reflect.get(target, key, target) as unknown;
    },
  });
  tracedClients.set(client, traced);
  return traced;
}
