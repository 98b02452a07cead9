import { MCPClientError } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { failureAttributes } from "../../../sessions/src/opentelemetry/failure-attributes.ts";

const withCause = (cause: unknown) => new Error("outer", { cause });
const circle = withCause(undefined);
circle.cause = circle;

test.each<[string, unknown, object]>([
  [
    "an error of ours, by its code and status",
    new McpSessionError("CONNECTION_UNAVAILABLE", "canary", { data: { status: 503 } }),
    { "error.type": "CONNECTION_UNAVAILABLE", "http.response.status_code": 503 },
  ],
  [
    "a JSON-RPC error, by its code",
    new MCPClientError({ message: "canary", code: -32602, data: "canary" }),
    { "error.type": "-32602", "rpc.response.status_code": "-32602" },
  ],
  [
    "an HTTP status",
    new MCPClientError({ message: "canary", statusCode: 429, responseBody: "canary" }),
    { "error.type": "429", "http.response.status_code": 429 },
  ],
  [
    "an abort, however deep",
    new MCPClientError({ message: "canary", cause: withCause(AbortSignal.abort().reason) }),
    { "error.type": "AbortError" },
  ],
  ["a time-out", new DOMException("canary", "TimeoutError"), { "error.type": "TimeoutError" }],
  [
    "a system error, however deep",
    withCause(Object.assign(new Error("canary"), { code: "ECONNREFUSED" })),
    { "error.type": "ECONNREFUSED" },
  ],
  [
    "any other error, without its name",
    Object.assign(new Error("canary"), { name: "canary", code: "canary" }),
    { "error.type": "_OTHER" },
  ],
  ["a circle of causes", circle, { "error.type": "_OTHER" }],
  ["what is no error", "canary", { "error.type": "_OTHER" }],
  ["nothing", undefined, { "error.type": "_OTHER" }],
])("names %s", (_, error, attributes) => {
  expect(failureAttributes(error)).toEqual(attributes);
});
