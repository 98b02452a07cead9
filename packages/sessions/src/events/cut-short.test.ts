import { McpSessionError } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { closedCall } from "./cut-short.ts";

const at = { connection: "notes", origin: "https://mcp.test" };
const closed = new Error("MCP error -32000: Connection closed");
const own = new McpSessionError("CONNECTION_UNAVAILABLE", "notes: Connection closed", { data: {} });

test("only a call whose client was closed has an unknown outcome, if nothing else is known of it", () => {
  const call = { ...at, method: "tools/call" };
  expect(closedCall(closed, call)).toMatchObject({ code: "OUTCOME_UNKNOWN", data: call });
  expect(closedCall(closed, { ...at, method: "tools/list" })).toBe(closed);
  expect(closedCall(own, call)).toBe(own);
  const other = new Error("Connection closed by hand.");
  expect(closedCall(other, call)).toBe(other);
});
