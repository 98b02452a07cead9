import { asSchema, jsonSchema } from "ai";
import { asSchema as asSchemaOf6, jsonSchema as jsonSchemaOf6 } from "ai-6";
import { expect, test } from "vitest";
import { asSchemaOfAi } from "./dress-tool.ts";

const schema = { type: "object", properties: { path: { type: "string" } } } as const;

test("a tool's schema is the one that AI SDK makes, 6 and 7, without loading it", () => {
  const own = asSchemaOfAi(schema);
  for (const theirs of [jsonSchema(schema), jsonSchemaOf6(schema)]) {
    expect({ ...own }).toEqual({ ...theirs });
    expect(Reflect.ownKeys(own).toSorted(byName)).toEqual(Reflect.ownKeys(theirs).toSorted(byName));
  }
  // Another one is taken for a function.
  expect([asSchema(own as never), asSchemaOf6(own as never)]).toEqual([own, own]);
});

const byName = (one: PropertyKey, other: PropertyKey) => String(one).localeCompare(String(other));
