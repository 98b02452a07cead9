import { defineMcpClientConnection, McpSessionError } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createConnectionSteps } from "./create-connection-steps.ts";

const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
const url = "http://127.0.0.1:1/mcp";
const connections = {
  notes: defineMcpClientConnection({ url, description: "Notes.", session: "stateful" }),
};
const failing = () => {
  const cause = new Error("postgres://user:a-password@db");
  throw new McpSessionError("STORE_FAILED", "The store is down.", { cause });
};

test.each(["open", "end"] as const)(
  "an error of the store at %s goes to the event log without its cause",
  async (kind) => {
    const store = { ...createMemoryStore(), get: failing, list: failing };
    const steps = createConnectionSteps({ connections, store });
    const request = { principal, sessionId: "chat", slots: {}, onUnavailable: "omit" } as const;
    const error: unknown = await steps
      .sessions({ kind, connections: ["notes"], ...request })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "STORE_FAILED", message: "The store is down." });
    expect((error as Error).cause).toBeUndefined();
  },
);
