import { Validator } from "@cfworker/json-schema";

/**
 * Creates what checks a tool's input against its JSON Schema: by walking the schema, because a
 * validator that generates code would do so again each time the run is replayed. A schema that cannot
 * be checked (a reference that leads nowhere) accepts anything, and the server decides.
 */
export function createInputCheck(schema: object): (input: unknown) => string | undefined {
  let validator: Validator | undefined;
  return (input) => {
    try {
      validator ??= new Validator(schema, dialectOf(schema), false);
      const { valid, errors } = validator.validate(input);
      if (valid) return undefined;
      return errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`).join(" ");
    } catch {
      return undefined;
    }
  };
}

/** The specification's default is the newest. */
function dialectOf(schema: object): "2020-12" | "7" | "4" {
  const { $schema } = schema as { $schema?: unknown };
  if (typeof $schema !== "string") return "2020-12";
  if ($schema.includes("draft-07") || $schema.includes("draft-06")) return "7";
  return $schema.includes("draft-04") ? "4" : "2020-12";
}
