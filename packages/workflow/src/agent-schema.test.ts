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
