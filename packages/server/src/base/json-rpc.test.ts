import * as v1 from "@modelcontextprotocol/sdk/types.js";
import * as v2 from "@modelcontextprotocol/server";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isMessage } from "./json-rpc.ts";

type Guards = Record<
  | "isJSONRPCRequest"
  | "isJSONRPCNotification"
  | "isJSONRPCResultResponse"
  | "isJSONRPCErrorResponse",
  (value: unknown) => boolean
>;

/** Whether a server of the SDK hands the message on: each tells messages apart with these, in its `Protocol`. */
const isDispatched = (sdk: Guards, value: unknown) =>
  sdk.isJSONRPCRequest(value) ||
  sdk.isJSONRPCNotification(value) ||
  sdk.isJSONRPCResultResponse(value) ||
  sdk.isJSONRPCErrorResponse(value);

const isValid = (value: unknown) => isDispatched(v1, value) && isDispatched(v2, value);

const anyJson = fc.jsonValue({ maxDepth: 2 });
const id = fc.oneof(
  fc.constantFrom<unknown>(
    0,
    1,
    -1,
    1.5,
    2 ** 53,
    Infinity,
    "",
    "a",
    null,
    true,
    "x".repeat(2_000),
  ),
  fc.string(),
  fc.integer(),
);
const text = fc.constantFrom<unknown>("", "tools/call", "initialize", 1, null);
const meta = fc.oneof(
  anyJson,
  fc.record(
    {
      progressToken: id,
      "io.modelcontextprotocol/related-task": fc.oneof(
        anyJson,
        fc.record({ taskId: fc.oneof(anyJson, fc.string()) }),
      ),
      "a/b": anyJson,
    },
    { requiredKeys: [] },
  ),
);
const params = fc.oneof(
  anyJson,
  fc.record({ _meta: meta, name: anyJson, arguments: anyJson }, { requiredKeys: [] }),
);
const error = fc.oneof(
  anyJson,
  fc.record(
    { code: fc.oneof(id, fc.constant(-32_603)), message: text, data: anyJson, more: anyJson },
    { requiredKeys: [] },
  ),
);
/** Mostly messages, each perhaps with something wrong. */
const messages = fc.record(
  {
    jsonrpc: fc.constantFrom<unknown>("2.0", "2.0", "2.0", "2.0", "1.0", 2),
    id,
    method: text,
    params,
    result: params,
    error,
    more: anyJson,
  },
  { requiredKeys: [] },
);
const kinds = [
  fc.record({ jsonrpc: fc.constant("2.0"), id, method: fc.string(), params }),
  fc.record({ jsonrpc: fc.constant("2.0"), id, method: text }),
  fc.record({ jsonrpc: fc.constant("2.0"), method: text, params }),
  fc.record({ jsonrpc: fc.constant("2.0"), id, result: params }),
  fc.record({ jsonrpc: fc.constant("2.0"), id, error }),
  fc.record({ jsonrpc: fc.constant("2.0"), error }),
];

test("a message is what servers of both SDKs hand on, exactly", () => {
  const seen = { valid: 0, invalid: 0 };
  fc.assert(
    fc.property(fc.oneof(messages, anyJson, ...kinds), (given) => {
      // As it arrives.
      const value: unknown = JSON.parse(JSON.stringify(given));
      const expected = isValid(value);
      seen[expected ? "valid" : "invalid"] += 1;
      expect(isMessage(value)).toBe(expected);
    }),
    { numRuns: 8_000 },
  );
  expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(500);
});
