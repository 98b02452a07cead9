import { expect, test } from "vitest";
import { createInputCheck } from "./validate-input.ts";

test("says where an input does not fit, and nothing of one that does", () => {
  const check = createInputCheck({
    type: "object",
    properties: { pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] } },
    required: ["pair"],
  });
  expect(check({ pair: ["a", 1] })).toBeUndefined();
  expect(check({ pair: ["a", "b"] })).toContain("#/pair/1");
  expect(check({})).toContain('"pair"');
});

test("knows the older dialects that a schema names", () => {
  const items = [{ type: "string" }];
  const of = (dialect: string) =>
    createInputCheck({
      $schema: `http://json-schema.org/${dialect}/schema#`,
      type: "array",
      items,
    });
  expect(of("draft-07")([7])).toContain("#/0");
  expect(of("draft-04")([7])).toContain("#/0");
});

test("leaves what it cannot check to the server", () => {
  expect(createInputCheck({ $ref: "https://elsewhere.test/schema" })({})).toBeUndefined();
});

test("leaves formats to the server", () => {
  const properties = {
    at: { type: "string", format: "date-time" },
    url: { anyOf: [{ type: "string", format: "uri" }, { type: "null" }] },
    format: { type: "string", format: "uri" },
  };
  const check = createInputCheck({ type: "object", properties, required: ["format"] });
  const url = "https://de.wikipedia.org/wiki/\u00c4pfel";
  expect(check({ at: "2026-11-22T10:00:00", url, format: "x" })).toBeUndefined();
  expect(check({ at: 7, format: "x" })).toContain("#/at");
  expect(check({ format: 7 })).toContain("#/format");
  expect(check({})).toContain('"format"');
});
