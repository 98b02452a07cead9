import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { agentSchema } from "./agent-schema.ts";

/** As `WorkflowAgent` compiles the schemas of a turn: all with one validator, strict as it is. */
function compileAll(...schemas: object[]) {
  const ajv = new Ajv();
  return schemas.map((schema) => ajv.compile(schema));
}

const odd = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: "https://tools.test/open",
  type: "object",
  "x-order": ["url"],
  properties: {
    url: { type: "string", format: "uri", description: "Where to go" },
    at: { type: "string", format: "date-time" },
    pair: { type: "array", prefixItems: [{ type: "string" }], items: { "x-unit": "px" } },
    size: { $ref: "#/$defs/size" },
    // Names, not keywords.
    format: { type: "string" },
    prefixItems: { type: "boolean" },
  },
  required: ["url"],
  additionalProperties: false,
  $defs: { size: { type: "integer", minimum: 1, "x-unit": "px" } },
};

test("schemas that a strict validator refuses are such that it takes them", () => {
  expect(() => compileAll(odd)).toThrow("no schema with key or ref");
  const [validate] = compileAll(agentSchema(odd), agentSchema(odd));
  expect(validate!({ url: "https://a.test", size: 2, format: "x", prefixItems: true })).toBe(true);
  expect(validate!({ url: "https://a.test", size: 0 })).toBe(false);
  expect(validate!({})).toBe(false);
});

test("a format is said to the model", () => {
  expect(agentSchema(odd)).toMatchObject({
    properties: {
      url: { type: "string", description: "Where to go (uri)" },
      at: { type: "string", description: "date-time" },
      format: { type: "string" },
    },
  });
});

test("a schema of known keywords stays as it is", () => {
  const known = {
    type: "object",
    properties: {
      a: { anyOf: [{ type: "string", enum: ["x"] }, { type: "null" }], default: null },
    },
    required: ["a"],
    additionalProperties: { type: "number" },
  };
  expect(agentSchema(known)).toEqual(known);
});

/** What servers send that draft-07 does not know, or knows otherwise, in one property each. */
const oddProperties: Record<string, object> = {
  anchor: { $ref: "#size" },
  "a reference to a document": { $ref: "https://elsewhere.test/schema#/size" },
  "a reference to what was left out": { $ref: "#/properties/property/x/0", x: [{}] },
  "a pattern of Python": { type: "string", pattern: "(?i)^\\-a\\Z" },
  "a pattern of Python for names": {
    type: "object",
    patternProperties: { "(?P<x>a)": { type: "string" } },
  },
  "patterns that names match": {
    type: "object",
    properties: { foo: {} },
    patternProperties: { "^f": { type: "string" } },
  },
  "draft-04": { type: "number", minimum: 0, exclusiveMinimum: true },
  "draft-03": { type: "any", required: true },
  "the same twice": { enum: ["a", "a"], required: ["a", "a"], type: ["null", "null"] },
  "empty lists": { enum: [], anyOf: [], type: [], items: [] },
  "what is idle": { items: {}, additionalItems: false, else: {} },
  "a format in dependencies": { dependencies: { a: { format: "uri" }, b: ["a"] } },
  "values of other types": { description: null, title: 3, minLength: 1.5, maxLength: -1, items: 7 },
};

test.each(Object.entries(oddProperties))("a strict validator takes %s", (_, property) => {
  const schema = { type: "object", properties: { property } };
  expect(() => compileAll(schema)).toThrow(Error);
  compileAll(agentSchema(schema));
});

test("names of properties are no keywords", () => {
  const properties = {
    default: { $ref: "#size" },
    $ref: { type: "string" },
    enum: { enum: ["a"] },
  };
  const [validate] = compileAll(agentSchema({ type: "object", properties }));
  expect(validate!({ default: 1, $ref: "x", enum: "a" })).toBe(true);
  expect(validate!({ enum: "b" })).toBe(false);
});

test.each([
  [{ prefixItems: [{ type: "string" }], items: false }, ["a"]],
  [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1]],
  [{ not: { format: "uri" } }, "a"],
  [{ oneOf: [{ format: "ipv4" }, { format: "ipv6" }] }, "127.0.0.1"],
  [{ if: { not: { format: "uri" } }, else: { minLength: 9 } }, "a"],
  [{ patternProperties: { "(?i)^x-": {} }, additionalProperties: false }, { "X-a": 1 }],
  [
    { properties: { a: {} }, patternProperties: { "^[ab]": {} }, additionalProperties: false },
    { b: 1 },
  ],
])("what is left out makes nothing unfit: %j", (schema, input) => {
  const [validate] = compileAll(agentSchema(schema));
  expect(validate!(input)).toBe(true);
});

test("data that looks like a schema stays as it is", () => {
  const looks = { $ref: "#size", format: "uri" };
  const known = { default: looks, enum: [looks], const: looks, examples: [looks] };
  expect(agentSchema(known)).toEqual(known);
});

test("a tuple is one for the validator", () => {
  const [validate] = compileAll(agentSchema({ prefixItems: [{ type: "string" }], items: false }));
  expect(validate!([1])).toBe(false);
  expect(validate!(["a", 1])).toBe(false);
});
