import { Validator } from "@cfworker/json-schema";

/**
 * Creates a function that checks a tool's input against its JSON Schema and returns the problem, if
 * there is one. It walks the schema, because a validator that generates code would generate it again at
 * each replay of the run. If a schema cannot be checked (a reference that leads nowhere), every input
 * passes, and the server decides. The server also decides on formats, which are no assertions in JSON
 * Schema: many servers accept a time without a zone as a `date-time`, or an address with umlauts as a `uri`.
 */
export function createInputCheck(schema: object): (input: unknown) => string | undefined {
  let validator: Validator | undefined;
  return (input) => {
    try {
      validator ??= new Validator(withoutFormats(schema) as object, dialectOf(schema), false);
      const { valid, errors } = validator.validate(input);
      if (valid) return undefined;
      return errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`).join(" ");
    } catch {
      return undefined;
    }
  };
}

/** The specification's default is the newest dialect. */
function dialectOf(schema: object): "2020-12" | "7" | "4" {
  const { $schema } = schema as { $schema?: unknown };
  if (typeof $schema !== "string") return "2020-12";
  if ($schema.includes("draft-07") || $schema.includes("draft-06")) return "7";
  return $schema.includes("draft-04") ? "4" : "2020-12";
}

/** Keywords whose values hold schemas by name. */
const byName = new Set([
  ...[
    "properties",
    "patternProperties",
    "definitions",
    "$defs",
    "dependentSchemas",
    "dependencies",
  ],
]);
/** Keywords whose values are not schemas. */
const data = new Set(["default", "const", "enum", "examples"]);

function withoutFormats(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutFormats);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema)
    .filter(([keyword]) => keyword !== "format")
    .map(([keyword, value]) => {
      if (data.has(keyword)) return [keyword, value];
      if (!byName.has(keyword)) return [keyword, withoutFormats(value)];
      const named = Object.entries((value ?? {}) as object);
      return [keyword, Object.fromEntries(named.map(([name, one]) => [name, withoutFormats(one)]))];
    });
  return Object.fromEntries(entries);
}
