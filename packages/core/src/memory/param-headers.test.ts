import { expect, test } from "vitest";
import { withNewParamHeaders, withParamHeaders } from "./param-headers.ts";

const property = (type: string, name = "Value") => ({ type, "x-mcp-header": name });

function headersOf(
  properties: object,
  args: unknown,
  { own = {}, method = "tools/call" }: { own?: Record<string, string>; method?: string } = {},
): Record<string, string> {
  const tools = [{ name: "a", inputSchema: { type: "object", properties } }];
  const request = { method: "POST", headers: new Headers(own) };
  const message = {
    jsonrpc: "2.0",
    id: 1,
    method,
    params: { name: "a", arguments: args },
  } as const;
  return Object.fromEntries(withParamHeaders(request, message, tools).headers);
}

test.each([
  ["us-west1", "us-west1"],
  ["a b\tc", "a b\tc"],
  ["", "=?base64??="],
  ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
  [" padded ", "=?base64?IHBhZGRlZCA=?="],
  ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
  ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
  ["\u0000", "=?base64?AA==?="],
])("encodes %j as the specification does", (value, header) => {
  expect(headersOf({ value: property("string") }, { value })).toEqual({
    "mcp-param-value": header,
  });
});

test.each([
  ["integer", 42, "42"],
  ["integer", -7, "-7"],
  ["boolean", false, "false"],
])("prints a %s", (type, value, header) => {
  expect(headersOf({ value: property(type) }, { value })).toEqual({ "mcp-param-value": header });
});

test.each([
  ["is null", property("string"), { value: null }],
  ["is missing", property("string"), {}],
  ["is not an argument", property("string"), null],
  ["has another type", property("integer"), { value: "42" }],
  ["is unsafe", property("integer"), { value: 2 ** 53 }],
  ["is a number", property("number"), { value: 1 }],
  ["has a name that is no token", property("string", "a\r\nb"), { value: "a" }],
  ["has an empty name", property("string", ""), { value: "a" }],
])("sends no header for a value that %s", (_, schema, args) => {
  expect(headersOf({ value: schema, toString: property("integer", "b") }, args)).toEqual({});
});

test("finds nested properties, and nothing in lists or alternatives", () => {
  const properties = {
    outer: { type: "object", properties: { inner: property("string", "Inner") } },
    list: { type: "array", items: { properties: { inner: property("string", "Item") } } },
    other: { anyOf: [{ properties: { inner: property("string", "Any") } }] },
  };
  const inner = { inner: "a" };
  expect(headersOf(properties, { outer: inner, list: [inner], other: inner })).toEqual({
    "mcp-param-inner": "a",
  });
});

test("sends none for a definition that names a header twice, whatever the case", () => {
  const properties = { a: property("string", "Same"), b: property("string", "same") };
  expect(headersOf(properties, { a: "1" })).toEqual({});
});

test("leaves the client's own header, and other methods", () => {
  const own = { "mcp-param-value": "own" };
  expect(headersOf({ value: property("string") }, { value: "a" }, { own })).toEqual(own);
  expect(
    headersOf({ value: property("string") }, { value: "a" }, { method: "prompts/get" }),
  ).toEqual({});
});

test("replaces the headers of an outdated definition", () => {
  const tools = [{ name: "a", inputSchema: { properties: { value: property("string", "New") } } }];
  const headers = new Headers({ "mcp-param-old": "1", accept: "x" });
  const params = { name: "a", arguments: { value: "2" } };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params } as const;
  const own = withNewParamHeaders({ method: "POST", headers }, message, tools);
  expect(Object.fromEntries(own.headers)).toEqual({ accept: "x", "mcp-param-new": "2" });
});
