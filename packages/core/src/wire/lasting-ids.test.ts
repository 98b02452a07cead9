import fc from "fast-check";
import { expect, test } from "vitest";
import { createRequestIds, lastingId, restoreLastingId, restoreProgress } from "./request-ids.ts";

const prefix = "a1b2";
const anyId = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((id) => !Object.is(id, -0)),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("", "5", "n5", 'a".b', "%", "ä☃😀", "\\"),
);

test("any id of a client is restored by any process, and needs no escape in JSON", () => {
  fc.assert(
    fc.property(anyId, (id) => {
      const wireId = lastingId(prefix, id);
      expect(JSON.stringify(wireId)).toBe(`"${wireId}"`);
      expect(restoreLastingId(prefix, wireId)).toBe(id);
      expect(restoreLastingId("other", wireId)).toBeUndefined();
    }),
  );
});

test("what no client has sent is restored for nobody", () => {
  for (const text of ["", "a1b2", "a1b2.", "a1b2.n", "a1b2.nx", "a1b2.s%", "a1b2.x5", 5, null])
    expect(restoreLastingId(prefix, text)).toBeUndefined();
});

test("another process restores an answer's id, a progress token and the id of a cancelled request", () => {
  const sender = createRequestIds(prefix);
  const params = { _meta: { progressToken: "t" } };
  const { message } = sender.send({ jsonrpc: "2.0", id: 5, method: "tools/call", params });
  const other = createRequestIds(prefix);
  expect(other.find(message.id)).toBeUndefined();
  expect(other.restore(message.id)?.request.id).toBe(5);
  const { progressToken } = message.params!["_meta"] as { progressToken: string };
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken } };
  expect(restoreProgress(progress as never, other)).toMatchObject({
    params: { progressToken: "t" },
  });
  expect(other.findByClientId(5)?.wireId).toBe(message.id);
});
