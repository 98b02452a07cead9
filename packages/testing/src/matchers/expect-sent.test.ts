import { expect, test } from "vitest";
import { expectDone, expectSent } from "./expect-sent.ts";
import { matchers } from "./vitest.ts";

expect.extend(matchers);
const call = { httpMethod: "POST", rpcMethod: "tools/call", tool: "order" };
const subject = { sent: [call, { httpMethod: "DELETE", rpcMethod: undefined, tool: undefined }] };
const server = { ledger: [{ tool: "order" }, { tool: "order" }] };

test("what was sent and done is compared as asked", () => {
  expect(subject).toHaveSent({ calls: 1, requests: 2 });
  expectSent(subject, { handshakes: 0 });
  expect(server).toHaveDone({ order: 2 });
  expect(server).not.toHaveDone({});
  expectDone(server, { order: 2 });
});

test("a difference is told with what was sent", () => {
  const told = 'expected {"calls":2}, found {"calls":1}: tools/call order, DELETE';
  expect(() => expect(subject).toHaveSent({ calls: 2 })).toThrow(told);
  expect(() => expectSent(subject, { calls: 2 })).toThrow(told);
  expect(() => expect(server).toHaveDone({ order: 1 })).toThrow('found {"order":2}');
  expect(() => expectDone(server, { order: 1 })).toThrow('found {"order":2}');
});
