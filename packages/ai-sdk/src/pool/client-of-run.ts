import type { MCPClient } from "@ai-sdk/mcp";
import type { ToolSet } from "ai";
import type { Execute } from "../tools/connection-tools.ts";

/** Methods that change a client, so that a later run must not get it. */
const leavesSomething: ReadonlySet<string | symbol> = new Set(["close", "onElicitationRequest"]);

/** Methods that do not return a promise. */
const syncMethods: ReadonlySet<string | symbol> = new Set([
  "onElicitationRequest",
  "toolsFromDefinitions",
]);

/**
 * Wraps a kept client for one run. The run's requests are watched. After the run they are refused.
 *
 * @returns the same for the same client
 */
export function createClientOfRun({
  throwIfOver,
  watched,
  leaveSomething,
}: {
  /** @throws when the run is over */
  throwIfOver?: () => void;
  /** Sees a request from its start to its end. */
  watched: <T>(request: () => T | Promise<T>) => Promise<T>;
  /** Called when the client was changed, so that a later run must not get it. */
  leaveSomething?: () => void;
}): (client: MCPClient) => MCPClient {
  const clients = new WeakMap<MCPClient, MCPClient>();

  /** The client's tools call the client directly, so they are wrapped too. */
  const toolsOfRun = (tools: ToolSet): ToolSet => {
    const entries = Object.entries(tools).map(([name, tool]) => {
      const { execute: call } = tool as { execute?: Execute };
      if (call === undefined) return [name, tool] as const;
      const execute: Execute = async (...input) => {
        throwIfOver?.();
        return await watched(() => call(...input) as Promise<unknown>);
      };
      return [name, { ...tool, execute }] as const;
    });
    return Object.fromEntries(entries) as ToolSet;
  };

  const create = (client: MCPClient): MCPClient =>
    new Proxy(client, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== "function") return value;
        const call = (args: unknown[]): unknown => {
          throwIfOver?.();
          if (leavesSomething.has(property)) leaveSomething?.();
          return value.apply(target, args);
        };
        if (property === "toolsFromDefinitions") {
          return (...args: unknown[]) => toolsOfRun(call(args) as ToolSet);
        }
        if (syncMethods.has(property)) return (...args: unknown[]) => call(args);
        return async (...args: unknown[]) => {
          const result = await watched(() => call(args));
          return property === "tools" ? toolsOfRun(result as ToolSet) : result;
        };
      },
    });

  return (client) => {
    const own = clients.get(client) ?? create(client);
    clients.set(client, own);
    return own;
  };
}
