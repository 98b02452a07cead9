import { expect, test } from "vitest";
import { createRequestIds } from "./request-ids.ts";
import type { JsonRpcId, JsonRpcRequest } from "./json-rpc.ts";

const request = (id: JsonRpcId, params?: Record<string, unknown>): JsonRpcRequest => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  ...(params && { params }),
});

test("gives each request an id that no other fetch uses", () => {
  const fetches = Array.from({ length: 50 }, () => createRequestIds());
  const wireIds = fetches.flatMap((ids) => [0, 1, 2].map((id) => ids.send(request(id)).message.id));
  expect(new Set(wireIds).size).toBe(150);
  // At least 96 random bits; a counter or a clock would repeat across processes.
  expect(fetches.every(({ prefix }) => /^[0-9a-f]{24}\.$/.test(prefix))).toBe(true);
});

test("makes no random number before the first request", () => {
  const ids = createRequestIds();
  expect(ids.prefix).toBe("");
  ids.send(request(0));
  expect(ids.prefix).not.toBe("");
});

test("leaves the rest of the request as it is, and the input untouched", () => {
  const input = request(0, { name: "a", _meta: { progressToken: 0, other: 1 } });
  const before = structuredClone(input);
  const { message, pending } = createRequestIds().send(input);
  expect(input).toEqual(before);
  expect(message).toEqual({
    ...before,
    id: pending.wireId,
    params: { name: "a", _meta: { progressToken: pending.wireId, other: 1 } },
  });
});

test("does not add a progress token where there was none", () => {
  const { message } = createRequestIds().send(request(0, { _meta: { progressToken: null } }));
  expect(message.params).toEqual({ _meta: { progressToken: null } });
});
