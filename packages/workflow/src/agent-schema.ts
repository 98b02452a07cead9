type Schema = Record<string, unknown>;

/** Keywords whose value holds schemas: one, a list, or one a name. */
const oneOrMore = new Set([
  ...["items", "additionalItems", "contains", "additionalProperties", "propertyNames"],
  ...["not", "if", "then", "else", "allOf", "anyOf", "oneOf"],
]);
const byName = new Set(["properties", "patternProperties", "definitions", "$defs"]);

/** The other keywords of draft-07, which every validator knows. */
const plain = new Set([
  ...["$ref", "$comment", "title", "description", "default", "examples", "type", "enum", "const"],
  ...["multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"],
  ...["maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems"],
  ...["maxProperties", "minProperties", "required", "readOnly", "writeOnly", "dependencies"],
]);

/**
 * A tool's schema as an agent may compile it. `WorkflowAgent` fails the whole turn over a keyword or a
 * format that its validator does not know, or a dialect of another year; so those are left out, and a
 * format is said in the description. What calls are checked against is the server's own schema.
 */
export function agentSchema(schema: Schema): Schema {
  const entries = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (plain.has(keyword)) return [[keyword, value]];
    if (oneOrMore.has(keyword)) {
      return [[keyword, Array.isArray(value) ? value.map(inside) : inside(value)]];
    }
    if (!byName.has(keyword) || !isSchema(value)) return [];
    const named = Object.entries(value).map(([name, one]) => [name, inside(one)]);
    return [[keyword, Object.fromEntries(named)]];
  });
  const { format, description } = schema;
  if (typeof format === "string") {
    const said = typeof description === "string" ? `${description} (${format})` : format;
    entries.push(["description", said]);
  }
  return Object.fromEntries(entries);
}

function inside(value: unknown): unknown {
  return isSchema(value) ? agentSchema(value) : value;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
