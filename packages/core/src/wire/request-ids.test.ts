import { describe, expect, test } from "vitest";
import { createRequestIds, restoreProgress } from "./request-ids.ts";
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

const progress = (progressToken: unknown) => ({
  jsonrpc: "2.0" as const,
  method: "notifications/progress",
  params: { progressToken, progress: 1 },
});

describe("restoring", () => {
  test.each<JsonRpcId>([0, 7, "0", "seven", -1])("gives %j back with its JSON type", (id) => {
    const ids = createRequestIds();
    const { pending } = ids.send(request(id));
    expect(ids.find(pending.wireId)?.request.id).toBe(id);
  });

  test.each<JsonRpcId>([0, "token"])("gives progress token %j back with its JSON type", (token) => {
    const ids = createRequestIds();
    const { pending } = ids.send(request(5, { _meta: { progressToken: token } }));
    expect(restoreProgress(progress(pending.wireId), ids)).toEqual(progress(token));
    expect(restoreProgress(progress("other"), ids)).toBeUndefined();
  });

  test("leaves the server's own requests and cancellations alone", () => {
    const ids = createRequestIds();
    const { wireId } = ids.send(request(0)).pending;
    const ping = { jsonrpc: "2.0" as const, id: wireId, method: "ping" };
    const cancelled = {
      jsonrpc: "2.0" as const,
      method: "notifications/cancelled",
      params: { requestId: wireId },
    };
    expect(restoreProgress(ping, ids)).toBeUndefined();
    expect(restoreProgress(cancelled, ids)).toBeUndefined();
  });
});

describe("finding a request by its client's id", () => {
  test("finds the one that waits, by value and type", () => {
    const ids = createRequestIds();
    const { pending } = ids.send(request(1));
    ids.send(request("1"));
    expect(ids.findByClientId(1)).toBe(pending);
    expect(ids.findByClientId(2)).toBeUndefined();
  });

  test("finds none when two clients wait under the same id, until one has its answer", () => {
    const ids = createRequestIds();
    const [first, second] = [ids.send(request(1)), ids.send(request(1))];
    expect(ids.findByClientId(1)).toBeUndefined();
    ids.settle(first.pending);
    expect(ids.findByClientId(1)).toBe(second.pending);
  });
});

test("forgets a request that was answered", () => {
  const ids = createRequestIds();
  const { pending } = ids.send(request(1));
  expect(ids.find(pending.wireId)).toBe(pending);
  ids.settle(pending);
  expect(ids.find(pending.wireId)).toBeUndefined();
});
