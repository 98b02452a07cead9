import { expect, test } from "vitest";
import { McpSessionError } from "../../base/mcp-session-error.ts";
import { checkInputResponses } from "./check-input-responses.ts";
import type { FormField, FormSchema, InputRequests, InputResponses } from "./input-request.ts";

const form = (properties: Record<string, FormField>, required: string[] = []): FormSchema => ({
  type: "object",
  properties,
  required,
});
const asked = (requestedSchema: unknown): InputRequests => ({
  confirm: {
    method: "elicitation/create",
    params: { message: "Order it?", requestedSchema: requestedSchema as FormSchema },
  },
});
const ok = asked(form({ ok: { type: "boolean" } }, ["ok"]));
const consent: InputRequests = {
  login: {
    method: "elicitation/create",
    params: { mode: "url", message: "Sign in", url: "https://shop.example/login" },
  },
};

/** The place and the message of the first problem. */
function problemOf(requests: InputRequests, responses: unknown) {
  const error = errorOf(() => checkInputResponses(requests, responses as InputResponses));
  if (error === undefined) return undefined;
  if (!McpSessionError.isInstance(error)) throw error;
  const [message, end] = error.message.split(". Nothing");
  const { code, cause } = error;
  expect({ code, cause, end }).toEqual({
    code: "INPUT_INVALID",
    cause: undefined,
    end: " was sent, and the call still waits.",
  });
  return { field: error.data.field, message };
}

function errorOf(run: () => void): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The problem of an accepted form with this content. */
const inForm = (requestedSchema: unknown, content: unknown) =>
  problemOf(asked(requestedSchema), { confirm: { action: "accept", content } });
const inField = (field: unknown, value: unknown) =>
  inForm(form({ field: field as FormField }), { field: value })?.message;

test("takes one answer for each question", () => {
  const both = { ...ok, ...consent };
  const accepted = { action: "accept", content: { ok: true } };
  expect(problemOf(both, { confirm: accepted, login: { action: "accept" } })).toBeUndefined();
  expect(problemOf(both, { confirm: accepted })).toEqual({
    field: "login",
    message: "login has no answer. Answer each question, with decline or cancel too",
  });
  expect(problemOf(ok, { confirm: accepted, confrim: accepted })).toEqual({
    field: "confrim",
    message: "confrim is no question of this call. The questions are confirm",
  });
  expect(problemOf({}, {})).toBeUndefined();
  expect(problemOf({}, { confirm: accepted })?.message).toBe(
    "confirm is no question of this call. This call has none",
  );
});

test.each([undefined, null, "accept", [{ action: "accept" }], 1n])(
  "refuses answers that are no object: %s",
  (responses) => {
    expect(problemOf(ok, responses)?.field).toBe("responses");
  },
);

test("refuses answers that are no JSON, without what they hold", () => {
  const circle: Record<string, unknown> = { secret: "swordfish" };
  circle["self"] = circle;
  expect(problemOf(ok, { confirm: { action: "accept", content: circle } })).toEqual({
    field: "responses",
    message: "responses must be JSON",
  });
  let deep: unknown = {};
  for (let depth = 0; depth < 100_000; depth += 1) deep = { deep };
  expect(problemOf(ok, { confirm: { action: "accept", content: deep } })?.field).toBe("responses");
});

test.each(["accepted", "", undefined, null, true])("refuses the action %s", (action) => {
  expect(problemOf(ok, { confirm: { action } })).toEqual({
    field: "confirm.action",
    message: "confirm.action must be accept, decline or cancel",
  });
});

test("takes decline and cancel, to forms and URLs alike, without content", () => {
  for (const action of ["decline", "cancel"]) {
    expect(problemOf(ok, { confirm: { action } })).toBeUndefined();
    expect(problemOf(ok, { confirm: { action, content: undefined } })).toBeUndefined();
    expect(problemOf(consent, { login: { action } })).toBeUndefined();
    expect(problemOf(ok, { confirm: { action, content: { ok: true } } })).toEqual({
      field: "confirm.content",
      message: `confirm.content must be left out with ${action}`,
    });
  }
});

test("refuses content for a URL", () => {
  expect(problemOf(consent, { login: { action: "accept", content: {} } })).toEqual({
    field: "login.content",
    message: "login.content must be left out: a URL is consented to and not filled in",
  });
});

test("refuses a misspelt part of an answer, which the server would not read", () => {
  expect(problemOf(ok, { confirm: { action: "accept", contents: { ok: true } } })).toEqual({
    field: "confirm.contents",
    message: "confirm.contents is no part of an answer, which has action and content",
  });
});

test.each([undefined, null, "yes", ["yes"]])("refuses a form with the content %s", (content) => {
  expect(inForm(form({}), content)).toEqual({
    field: "confirm.content",
    message: "confirm.content must be an object with the fields of the form",
  });
});

test("asks for the required fields, and leaves optional ones and their defaults out", () => {
  const schema = form({ time: { type: "string" }, gift: { type: "boolean", default: true } }, [
    "time",
  ]);
  const content = { time: "09:30" };
  expect(inForm(schema, content)).toBeUndefined();
  expect(content).toEqual({ time: "09:30" });
  const missing = {
    field: "confirm.content.time",
    message:
      "confirm.content.time is missing. The server requires it: add it, or decline the question",
  };
  expect(inForm(schema, { gift: true })).toEqual(missing);
  expect(inForm(schema, { time: undefined })).toEqual(missing);
});

test("refuses fields that the form does not have, unless its schema allows others", () => {
  const schema = form({ deliveryTime: { type: "string" } });
  const misspelt = { delivery_time: "09:30" };
  expect(inForm(schema, misspelt)).toEqual({
    field: "confirm.content.delivery_time",
    message: "confirm.content.delivery_time is no field of this form: leave it out",
  });
  expect(inForm({ ...schema, additionalProperties: false }, misspelt)).toBeDefined();
  for (const open of [
    { additionalProperties: true },
    { additionalProperties: { type: "string" } },
    { patternProperties: { "^d": {} } },
    { allOf: [{ properties: { delivery_time: {} } }] },
  ])
    expect(inForm({ ...schema, ...open }, misspelt)).toBeUndefined();
});

const choices = [
  { const: "#f00", title: "Red" },
  { const: "#0f0", title: "Green" },
];

test.each<[FormField, unknown, string]>([
  [{ type: "string" }, 7, "must be text"],
  [{ type: "string", minLength: 3 }, "😀😀", "must have at least 3 characters"],
  [{ type: "string", maxLength: 3 }, "four", "must have at most 3 characters"],
  [{ type: "string", format: "email" }, "ada", "must be an email address"],
  [{ type: "string", format: "uri" }, "shop", "must be a whole URL"],
  [{ type: "string", format: "date" }, "2027-02-29", "must be a date such as 2026-07-28"],
  [
    { type: "string", format: "date-time" },
    "2026-07-28T09:30",
    "must be a time with its date and zone, such as 2026-07-28T09:30:00Z",
  ],
  [{ type: "string", enum: ["red"] }, "blue", "must be one of the values of its question"],
  [{ type: "string", oneOf: choices }, "Red", "must be one of the values of its question"],
  [{ type: "number" }, "1", "must be a number"],
  [{ type: "number" }, Number.NaN, "must be a number"],
  [{ type: "number", minimum: 18 }, 17, "must be 18 or more"],
  [{ type: "integer", maximum: 9 }, 10, "must be 9 or less"],
  [{ type: "integer" }, 1.5, "must be a whole number"],
  [{ type: "boolean" }, "true", "must be true or false"],
  [{ type: "array", items: { anyOf: choices } }, "#f00", "must be a list"],
  [{ type: "array", minItems: 1, items: { anyOf: choices } }, [], "must have at least 1 values"],
  [
    { type: "array", maxItems: 1, items: { anyOf: choices } },
    ["#f00", "#0f0"],
    "must have at most 1 values",
  ],
  [
    { type: "array", items: { anyOf: choices } },
    ["#f00", "blue"],
    "must be a list of values of its question",
  ],
  [
    { type: "array", items: { type: "string", enum: ["7"] } },
    [7],
    "must be a list of values; each must be text",
  ],
])("refuses a wrong value: %j %j", (field, value, problem) => {
  expect(inField(field, value)).toBe(`confirm.content.field ${problem}`);
});

test("takes any object for a question that is none for a person", () => {
  const requests: InputRequests = { roots: { method: "roots/list" } };
  expect(problemOf(requests, { roots: { roots: [] } })).toBeUndefined();
  expect(problemOf(requests, { roots: [] })?.message).toBe("roots must be an object");
});

test("refuses an answer of more than 64 KB", () => {
  const schema = form({ text: { type: "string" } });
  const room = 65_536 - JSON.stringify({ action: "accept", content: { text: "" } }).length;
  const text = "é".repeat(room / 2) + "e".repeat(room % 2);
  expect(inForm(schema, { text })).toBeUndefined();
  expect(inForm(schema, { text: `${text}e` })).toEqual({
    field: "confirm",
    message: "confirm must be 64 KB of JSON at most",
  });
});

test.each([
  undefined,
  { properties: ["field"] },
  { properties: { field: null }, required: "field" },
  { properties: { field: { type: "uuid", minLength: "3", enum: "red", oneOf: {} } } },
  { properties: { field: { type: 7, format: "constructor" } } },
  { properties: { field: { type: "string", enum: [{ const: "red" }] } } },
  { $ref: "#", properties: { field: { $ref: "#/nowhere" } } },
  { properties: { field: { type: "string", not: {}, const: "red" } } },
])("leaves a schema that makes no sense to the server: %j", (schema) => {
  expect(inForm(schema, { field: "blue" })).toBeUndefined();
});

test("runs no regular expression of a server", () => {
  const slow = { type: "string", pattern: "^(a+)+$" };
  expect(inField(slow, `${"a".repeat(20)}!`)).toBeUndefined();
});

test("checks the largest form with the largest question in a moment", () => {
  const listed = Array.from({ length: 200_000 }, (_, index) => `v${index}`);
  const titled = listed.map((value) => ({ const: value, title: "" }));
  const many = Array.from({ length: 6_000 }, () => "v199999");
  const startedAt = performance.now();
  for (const items of [{ enum: listed }, { anyOf: titled }]) {
    expect(inField({ type: "array", items }, many)).toBeUndefined();
    expect(inField({ type: "array", items }, [...many, "?"])).toBeDefined();
  }
  for (const format of ["email", "uri", "date", "date-time"]) {
    for (const text of ["a", "1", "a@", "a:", "//", "%20", "[::", "a.", "-"])
      inField({ type: "string", format }, `a:${text.repeat(10_000 / text.length)}\n`);
  }
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

/** Also of a name that an object literal would take for its prototype. */
const named = (key: string, value: unknown): Record<string, never> =>
  Object.defineProperty({}, key, { value, enumerable: true }) as Record<string, never>;
const accepted = { action: "accept", content: { ok: true } };

test("reads own keys only, whatever their names", () => {
  for (const key of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const requests: InputRequests = Object.create(null);
    Object.defineProperty(requests, key, { value: ok["confirm"], enumerable: true });
    expect(problemOf(requests, named(key, accepted))).toBeUndefined();
    expect(problemOf(requests, {})?.field).toBe(key);
    expect(problemOf(ok, { confirm: accepted, ...named(key, accepted) })?.field).toBe(key);

    const schema = { type: "object", properties: named(key, { type: "boolean" }), required: [key] };
    expect(inForm(schema, named(key, true))).toBeUndefined();
    expect(inForm(schema, {})?.field).toBe(`confirm.content.${key}`);
    expect(inForm(form({}), named(key, true))?.field).toBe(`confirm.content.${key}`);
  }
});

test("shows names from outside in one short line", () => {
  const problem = problemOf({ [`a\nb${"c".repeat(1_000)}`]: ok["confirm"]! }, {});
  expect(problem?.field).toBe(`a\uFFFDb${"c".repeat(97)}…`);
  const many = Object.fromEntries(
    Array.from({ length: 99 }, (_, key) => [`k${key}`, ok["confirm"]!]),
  );
  expect(problemOf(many, { other: {} })?.message).toBe(
    "other is no question of this call. The questions are k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, …",
  );
});
