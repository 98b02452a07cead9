import type { Attributes } from "@opentelemetry/api";
import type { ConnectionOperation } from "../events/connection-telemetry.ts";

/** Revisions from this one on have no `initialize`. */
const firstWithoutInitialize = "2026-07-28";

const methods = { list: "tools/list", call: "tools/call" } as const;

/** The method that an operation is named for; a recovery is more than one request. */
export function methodName({ operation }: ConnectionOperation, protocolVersion = ""): string {
  if (operation === "recover") return "recover";
  if (operation !== "connect") return methods[operation];
  return protocolVersion >= firstWithoutInitialize ? "server/discover" : "initialize";
}

export function spanName(operation: ConnectionOperation): string {
  const { tool } = operation;
  return tool === undefined ? methodName(operation) : `${methodName(operation)} ${tool}`;
}

/** What is known of an operation at its start, when samplers decide. */
export function operationAttributes(operation: ConnectionOperation): Attributes {
  const { connection, transport, origin, tool } = operation;
  return {
    ...(operation.operation !== "recover" && { "mcp.method.name": methodName(operation) }),
    ...(tool !== undefined && {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
    }),
    "durable_mcp.connection": connection,
    "network.transport": transport === "stdio" ? "pipe" : "tcp",
    ...(transport === "http" && { "network.protocol.name": "http" }),
    ...(origin !== undefined && serverAttributes(new URL(origin))),
  };
}

function serverAttributes({ hostname, port, protocol }: URL): Attributes {
  return {
    // Without the brackets around an IPv6 address.
    "server.address": hostname.replace(/^\[|\]$/g, ""),
    "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
  };
}
