import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { startRestoring } from "../../test/answer-restorer.ts";
import { partsLength, partsText, replaceBytes } from "../wire/byte-parts.ts";
import type { JsonRpcId, JsonRpcRequest } from "../wire/json-rpc.ts";
import { manageSlot } from "../tools/manage-slot.ts";

const large = "ä".repeat(10_000); // 20,000 bytes: more than is parsed.

function setUp({ id = 7, method = "tools/call" }: { id?: JsonRpcId; method?: string } = {}) {
  const { ids, slot, events, restorerOf } = startRestoring();
  const request: JsonRpcRequest = { jsonrpc: "2.0", id, method };
  const { pending } = ids.send(request);
  const restoreIn = restorerOf(pending);
  /** What the client gets of a message, in text; `undefined` when it is kept back. */
  const restore = (text: string, cuts: number[] = []) => {
    const bytes = new TextEncoder().encode(text);
    const parts = [0, ...cuts].map((cut, index) => bytes.subarray(cut, cuts[index]));
    const edit = restoreIn(parts, 0, bytes.length);
    if (typeof edit === "string") return undefined;
    const result = edit ? replaceBytes(parts, edit) : parts;
    return partsText(result, 0, partsLength(result));
  };
  const isSettled = () => ids.find(pending.wireId) === undefined;
  return { ids, slot, events, restoreIn, wireId: pending.wireId, restore, isSettled };
}

describe.each([
  ["small", "text"],
  ["large", large],
])("in a %s message", (_size, text) => {
  const result = { content: [{ type: "text", text }] };

  test("restores the id wherever it stands, for any client id and spacing", () => {
    const clientId = fc.oneof(fc.integer(), fc.string());
    const order = fc.shuffledSubarray(["jsonrpc", "id", "result"], { minLength: 3 });
    fc.assert(
      fc.property(clientId, order, fc.constantFrom(undefined, 1, "\t"), (id, keys, space) => {
        const { wireId, restore, isSettled } = setUp({ id });
        const message = { jsonrpc: "2.0", id: wireId, result };
        const sent = Object.fromEntries(
          keys.map((key) => [key, message[key as keyof typeof message]]),
        );
        const received = restore(JSON.stringify(sent, null, space));
        expect(JSON.parse(received ?? "")).toEqual({ ...message, id });
        expect(isSettled()).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ["first", ["id", "result"]],
    ["second", ["jsonrpc", "id", "result"]],
    ["last", ["jsonrpc", "result", "id"]],
    ["last but one", ["result", "id", "jsonrpc"]],
  ] as const)("is not misled by decoys inside the result when the id is %s", (_, keys) => {
    const { wireId, ids, restore } = setUp();
    const other = ids.send({ jsonrpc: "2.0", id: 8, method: "tools/call" }).pending.wireId;
    const message = {
      jsonrpc: "2.0",
      id: wireId,
      result: {
        id: other,
        content: [{ type: "text", text: `"id":"${other}"} ${text} {"id":"${other}"`, id: other }],
        structuredContent: { jsonrpc: "2.0", id: other },
      },
    };
    const sent = { ...Object.fromEntries(keys.map((key) => [key, message[key]])), jsonrpc: "2.0" };
    expect(JSON.parse(restore(JSON.stringify(sent)) ?? "")).toEqual({ ...message, id: 7 });
    expect(ids.find(other)).toBeDefined();
  });

  test("leaves a request and a notification of the server as they came", () => {
    const { restore, isSettled } = setUp();
    for (const message of [
      { jsonrpc: "2.0", id: 3, method: "sampling/createMessage", params: result },
      { jsonrpc: "2.0", method: "notifications/message", params: result },
      [{ jsonrpc: "2.0", id: 3, method: "ping", result }],
      [{ jsonrpc: "2.0", method: "notifications/message", params: result }],
    ]) {
      expect(restore(JSON.stringify(message, null, 1))).toBe(JSON.stringify(message, null, 1));
    }
    expect(isSettled()).toBe(false);
  });

  // Client ids are small numbers: the client would take it for the answer to its own request.
  test("keeps the answer to an id that nobody here sent back", () => {
    const { restore, isSettled } = setUp({ id: 7 });
    for (const id of [7, "7", 3, "other"]) {
      expect(restore(JSON.stringify({ jsonrpc: "2.0", id, result }))).toBeUndefined();
      expect(restore(JSON.stringify([{ jsonrpc: "2.0", id, result }]))).toBeUndefined();
    }
    expect(isSettled()).toBe(false);
  });

  test("reads the answer to tools/list as a whole", () => {
    const { wireId, restore, slot } = setUp({ method: "tools/list" });
    const tools = [{ name: text }];
    restore(JSON.stringify({ jsonrpc: "2.0", id: wireId, result: { tools } }));
    expect(manageSlot(slot).listed()).toMatchObject({ tools });
  });
});

test("passes the bulk of a large message on without a copy", () => {
  const { wireId, restoreIn } = setUp();
  const message = { jsonrpc: "2.0", id: wireId, result: { text: large } };
  const bytes = new TextEncoder().encode(JSON.stringify(message));
  const edit = restoreIn([bytes], 0, bytes.length);
  if (typeof edit !== "object") throw new Error("was not restored");
  const parts = replaceBytes([bytes], edit);
  expect(parts.at(-1)?.buffer).toBe(bytes.buffer);
});

const answer = (id: unknown) => ({ jsonrpc: "2.0", id, result: {} });

describe("in a batch, as revision 2025-03-26 knows it", () => {
  const note = { jsonrpc: "2.0", method: "notifications/message" };

  test("restores the request's own id, and keeps back what is for another request", () => {
    const { ids, wireId, restore } = setUp();
    const second = ids.send({ jsonrpc: "2.0", id: "b", method: "ping" }).pending.wireId;
    const received = restore(JSON.stringify([answer(second), note, answer(wireId), answer(3)]));
    expect(JSON.parse(received ?? "")).toEqual([note, answer(7)]);
  });
});

test("leaves another request's progress under its token on the wire", () => {
  const { ids, restore } = setUp();
  const params = { _meta: { progressToken: 7 } };
  const { wireId } = ids.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params }).pending;
  const progress = { progressToken: wireId, progress: 1 };
  const text = JSON.stringify({
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: progress,
  });
  expect(restore(text)).toBe(text);
});

test("reads notifications, and tells of them", () => {
  const { restore, events } = setUp();
  const method = "notifications/tools/list_changed";
  restore(JSON.stringify({ jsonrpc: "2.0", method }));
  expect(events).toEqual([
    { type: "tools-changed", reason: "list-changed" },
    { type: "notification", method, params: undefined },
  ]);
});

test.each(["small", large])("restores a message after a byte order mark, %#", (text) => {
  // The mark is three bytes and one character: an offset in characters would hit the wrong bytes.
  const { wireId, restore } = setUp();
  const message = { jsonrpc: "2.0", id: wireId, result: { text } };
  const received = restore(`\uFEFF${JSON.stringify(message)}`) ?? "";
  expect(received.slice(0, 100)).not.toContain(wireId);
  const { result, ...rest } = JSON.parse(received.replace(/^\uFEFF/, ""));
  expect([rest, result.text === text]).toEqual([{ jsonrpc: "2.0", id: 7 }, true]);
});

test("settles nothing that its client cannot parse, however it is broken and cut", () => {
  const breaks = fc.constantFrom("NaN", "\u0001", '"', "}", ",", '"id":"x",', "\\u00", "\\");
  const place = fc.double({ min: 0, max: 1, noNaN: true });
  const keys = fc.shuffledSubarray(["jsonrpc", "id", "result"], { minLength: 3 });
  fc.assert(
    fc.property(fc.boolean(), keys, breaks, place, fc.array(place), (isLarge, order, by, ...at) => {
      const { wireId, restore, isSettled } = setUp();
      const result = { content: [{ type: "text", text: isLarge ? large : "ä" }], isError: false };
      const message: Record<string, unknown> = { jsonrpc: "2.0", id: wireId, result };
      const text = JSON.stringify(Object.fromEntries(order.map((key) => [key, message[key]])));
      const [broken, cuts] = [Math.floor(at[0] * text.length), at[1].toSorted((a, b) => a - b)];
      const sent = text.slice(0, broken) + by + text.slice(broken);
      let received: string | undefined;
      try {
        received = restore(
          sent,
          cuts.map((cut) => Math.floor(cut * sent.length)),
        );
      } catch {}
      if (!isSettled()) return;
      expect(JSON.parse(received ?? "")).toMatchObject({ id: 7, result: {} });
    }),
    { numRuns: 300 },
  );
});
