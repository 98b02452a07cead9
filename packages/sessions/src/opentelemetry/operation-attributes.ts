import type { Attributes } from "@opentelemetry/api";
import type { ConnectionOperation } from "../events/connection-telemetry.ts";

/** Revisions from this one on have no `initialize`. */
const firstWithoutInitialize = "2026-07-28";

const methods = {
  list: "tools/list",
  call: "tools/call",
  recover: "recover",
  ready: "ready",
  look: "look",
  answer: "answer",
} as const;

/** Whether an operation is one request; a recovery, a wait, and an answer may be several. */
export function isRequest({ operation }: ConnectionOperation): boolean {
  return (
    operation !== "recover" &&
    operation !== "ready" &&
    operation !== "answer" &&
    operation !== "look"
  );
}

/** The method that an operation is named for. */
export function methodName({ operation }: ConnectionOperation, protocolVersion = ""): string {
  if (operation !== "connect") return methods[operation];
  return protocolVersion >= firstWithoutInitialize ? "server/discover" : "initialize";
}

export function spanName(operation: ConnectionOperation): string {
  const { tool } = operation;
  return tool === undefined ? methodName(operation) : `${methodName(operation)} ${tool}`;
}

/** What is known of an operation at its start, when samplers decide. */
export function operationAttributes(operation: ConnectionOperation): Attributes {
  const { connection, sessionName, transport, origin, tool } = operation;
  return {
    ...(isRequest(operation) && { "mcp.method.name": methodName(operation) }),
    ...(tool !== undefined && {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
    }),
    "durable_mcp.connection": connection,
    ...(sessionName !== undefined && { "durable_mcp.session_name": sessionName }),
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
