import { expect, test } from "vitest";
import { questionOf } from "./send-leg.ts";
import { describeWaiting } from "../record/describe-waiting.ts";
import { parseWaitingRecord, type WaitingRecord } from "../record/waiting-record.ts";

const asked = (more: string) =>
  questionOf(JSON.parse(`{ "resultType": "input_required", ${more} }`) as unknown);

test("takes questions, a state, or both", () => {
  const confirm = { method: "elicitation/create", params: { message: "Order it?" } };
  const requests = JSON.stringify({ confirm });
  expect(asked(`"inputRequests": ${requests}, "requestState": "s"`)).toEqual({
    requests: { confirm },
    requestState: "s",
  });
  expect(asked(`"inputRequests": ${requests}`)).toEqual({ requests: { confirm } });
  expect(asked(`"requestState": ""`)).toEqual({ requests: {}, requestState: "" });
  expect(asked(`"inputRequests": null, "requestState": "s"`)).toEqual({
    requests: {},
    requestState: "s",
  });
  expect(asked(`"inputRequests": ${requests}, "requestState": null`)).toEqual({
    requests: { confirm },
  });
  expect(questionOf({ resultType: "complete", requestState: "s" })).toBeUndefined();
});

// A first leg that asks nothing would be sent again as it was, and a record that does not parse is lost.
test.each([
  '"content": []',
  '"inputRequests": {}',
  '"inputRequests": null, "requestState": null',
  '"inputRequests": [], "requestState": "s"',
  '"inputRequests": { "confirm": "elicitation/create" }, "requestState": "s"',
  '"inputRequests": { "confirm": { "method": 7 } }, "requestState": "s"',
  '"requestState": 7',
])("takes a result that makes no sense for no question: %s", (more) => {
  expect(asked(more)).toBeUndefined();
});

test.each([
  ["https://bank.example/pay?to=7#now", true],
  ["http://127.0.0.1:8080/", true],
  ["https://bank.example@evil.example/", false],
  ["https://:secret@evil.example/", false],
  [String.raw`https:\\bank.example\@evil.example/`, true],
  ["javascript:alert(1)", false],
  ["no URL", false],
  [7, false],
])("takes a question at the URL %s for one that can be shown: %s", (url, isShown) => {
  const params = { mode: "url", message: "Pay", url };
  const requests = { pay: { method: "elicitation/create", params } };
  const question = asked(`"inputRequests": ${JSON.stringify(requests)}`);
  expect(question !== undefined).toBe(isShown);
});

test("keeps every key of a server in the store and in what an application sees", () => {
  const keys = ["__proto__", "constructor", "confirm"];
  const entries = keys.map((key) => `"${key}": { "method": "elicitation/create" }`).join(", ");
  const question = asked(`"inputRequests": { ${entries} }`);
  const call = {
    ...{ version: 1, kind: "input", id: "call", state: "waiting", connection: "shop" },
    ...{ url: "https://shop.example/mcp", digest: "", round: 1, leg: "leg" },
    request: { method: "tools/call", params: { name: "order" }, headers: {} },
    ...{ requests: question?.requests, askedAt: 1, expiresAt: 2 },
  };
  const stored = parseWaitingRecord(JSON.parse(JSON.stringify(call))) as WaitingRecord;
  const { requests } = describeWaiting(stored);
  expect(Object.keys(requests)).toEqual(keys);
  // React Server Components take no other.
  expect(Object.getPrototypeOf(requests)).toBe(Object.prototype);
});
