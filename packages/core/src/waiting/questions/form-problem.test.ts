import { type Schema, Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { expect, test } from "vitest";
import { formProblem } from "./form-problem.ts";

const text = fc.oneof(
  fc.constantFrom("", "red", "green", "a@b.example", "https://a.example", "2026-07-28", "😀"),
  fc.string({ maxLength: 5, unit: "grapheme" }),
);
const size = fc.option(fc.nat(4), { nil: undefined });
const bound = fc.option(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constant(0.5)), {
  nil: undefined,
});
const titled = fc.array(fc.record({ const: text, title: text }), { minLength: 1, maxLength: 3 });
/** Else `oneOf` allows a value of two choices by none of them. */
const eachOnce = titled.map((all) => [...new Map(all.map((one) => [one.const, one])).values()]);
const listed = fc.array(text, { minLength: 1, maxLength: 3 });

/** The fields that the specification allows. */
const field = fc
  .oneof(
    fc.record({
      type: fc.constant("string"),
      minLength: size,
      maxLength: size,
      format: fc.constantFrom(undefined, "email", "uri", "date", "date-time"),
    }),
    fc.record({ type: fc.constantFrom("number", "integer"), minimum: bound, maximum: bound }),
    fc.record({ type: fc.constant("boolean") }),
    fc.record({ type: fc.constant("string"), enum: listed }),
    fc.record({ type: fc.constant("string"), oneOf: eachOnce }),
    fc.record({
      type: fc.constant("array"),
      minItems: size,
      maxItems: size,
      items: fc.oneof(
        fc.record({ type: fc.constant("string"), enum: listed }),
        fc.record({ anyOf: titled }),
      ),
    }),
  )
  .map((given) => JSON.parse(JSON.stringify(given)) as object);

const names = fc.constantFrom("a", "b", "c");
const schema = fc.record({
  type: fc.constant("object"),
  properties: fc.dictionary(names, field),
  required: fc.uniqueArray(names),
});
const number = fc.oneof(fc.integer({ min: -4, max: 4 }), fc.constantFrom(0.5, -0.5));
const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: text,
  array: fc.array(text, { maxLength: 5 }),
  boolean: fc.boolean(),
};
const value = fc.oneof(...Object.values(values), number, fc.constant(null));
const content = fc
  .dictionary(names, value)
  .map((given) => JSON.parse(JSON.stringify(given)) as Record<string, unknown>);

interface Asked {
  type: string;
  properties: Record<string, object>;
  required: string[];
}

/** Whether a validator of JSON Schema takes the form, which is known to have no other fields. */
function isValid(filledIn: Record<string, unknown>, asked: Asked): boolean {
  // A required field without a schema may have any value.
  const properties = {
    ...Object.fromEntries(asked.required.map((name) => [name, {}])),
    ...asked.properties,
  };
  const closed = { ...asked, properties, additionalProperties: false } as Schema;
  return new Validator(closed, "2020-12").validate(filledIn).valid;
}

test("agrees with a JSON Schema validator on every form of the specification", () => {
  const oneField = fc.record({ a: field }).map((properties): [Asked, fc.Arbitrary<unknown>] => {
    const { type } = properties.a as { type: string };
    return [{ type: "object", properties, required: [] }, values[type] ?? number];
  });
  const filled = oneField.chain(([asked, fitting]) =>
    fc.tuple(
      fc.constant(asked),
      fitting.map((a) => ({ a })),
    ),
  );
  const verdicts = { true: 0, false: 0 };
  const agrees = ([asked, filledIn]: [Asked, Record<string, unknown>]) => {
    const expected = isValid(filledIn, asked);
    verdicts[`${expected}`] += 1;
    expect(formProblem(filledIn, asked) === undefined).toBe(expected);
  };
  fc.assert(fc.property(filled, agrees), { numRuns: 3_000 });
  fc.assert(fc.property(fc.tuple(schema, content), agrees), { numRuns: 1_000 });
  expect(verdicts.true).toBeGreaterThan(500);
  expect(verdicts.false).toBeGreaterThan(500);
});

test("survives any schema, and only ever names a field", () => {
  fc.assert(
    fc.property(fc.jsonValue(), content, (asked, filledIn) => {
      const problem = formProblem(filledIn, asked);
      expect(problem === undefined || typeof problem.field === "string").toBe(true);
    }),
  );
  const keywords = fc.constantFrom(
    ...["type", "properties", "required", "enum", "oneOf", "anyOf", "items", "format"],
    ...["minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "a"],
  );
  const part = (inner: fc.Arbitrary<unknown>) =>
    fc.dictionary(keywords, fc.oneof(inner, fc.array(inner, { maxLength: 3 })), { maxKeys: 6 });
  const hostile = part(part(part(part(fc.jsonValue({ maxDepth: 1 })))));
  fc.assert(
    fc.property(hostile, content, (asked, filledIn) => {
      expect(() => formProblem(filledIn, asked)).not.toThrow();
    }),
    { numRuns: 200 },
  );
});
