type Schema = Record<string, unknown>;

/** The part of a keyword's value that a strict validator accepts; `undefined` leaves the keyword out. */
type Clean = (value: unknown) => unknown;

const only =
  (isFit: (value: any) => boolean): Clean =>
  (value) =>
    isFit(value) ? value : undefined;
const any: Clean = (value) => value;
const text = only((value) => typeof value === "string");
const flag = only((value) => typeof value === "boolean");
const list = only(Array.isArray);
const number = only(Number.isFinite);
const count = only((value) => Number.isSafeInteger(value) && value >= 0);
const names: Clean = (value) =>
  Array.isArray(value) ? [...new Set(value.filter((name) => typeof name === "string"))] : undefined;
const types = new Set(["array", "boolean", "integer", "null", "number", "object", "string"]);

/** Removes duplicates. */
const choices: Clean = (value) => {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return [...new Map(value.map((choice) => [JSON.stringify(choice), choice])).values()];
};
const typeOrTypes: Clean = (value) => {
  if (typeof value === "string") return types.has(value) ? value : undefined;
  const known = (names(value) as string[] | undefined)?.filter((name) => types.has(name)) ?? [];
  return known.length > 0 ? known : undefined;
};

/** Boolean schemas are schemas too. */
const schema: Clean = (value) => {
  if (typeof value === "boolean") return value;
  return isSchema(value) ? cleanSchema(value) : undefined;
};
const schemas: Clean = (value) => {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const cleaned = value.map(schema);
  return cleaned.includes(undefined) ? undefined : cleaned;
};
const byName =
  (clean: Clean): Clean =>
  (value) => {
    if (!isSchema(value)) return undefined;
    const cleaned = Object.entries(value).map(([name, one]) => [name, clean(one)] as const);
    return Object.fromEntries(cleaned.filter(([, one]) => one !== undefined));
  };

/** The keywords of draft-07. Every validator knows them. */
const keywords = new Map<string, Clean>([
  ["$ref", text],
  ["$comment", text],
  ["title", text],
  ["description", text],
  ["default", any],
  ["examples", list],
  ["readOnly", flag],
  ["writeOnly", flag],
  ["type", typeOrTypes],
  ["enum", choices],
  ["const", any],
  ["multipleOf", only((value) => Number.isFinite(value) && value > 0)],
  ...["maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"].map(
    (keyword) => [keyword, number] as const,
  ),
  ...["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"].map(
    (keyword) => [keyword, count] as const,
  ),
  ["pattern", only((value) => typeof value === "string" && isPattern(value))],
  ["uniqueItems", flag],
  ["required", names],
  ["items", (value) => schema(value) ?? schemas(value)],
  ...["allOf", "anyOf", "oneOf"].map((keyword) => [keyword, schemas] as const),
  ...["additionalItems", "contains", "additionalProperties", "propertyNames", "not"].map(
    (keyword) => [keyword, schema] as const,
  ),
  ...["if", "then", "else"].map((keyword) => [keyword, schema] as const),
  ...["properties", "patternProperties", "definitions", "$defs"].map(
    (keyword) => [keyword, byName(schema)] as const,
  ),
  ["dependencies", byName((value) => schema(value) ?? names(value))],
]);

/**
 * A tool's schema in a form that every agent can compile. `WorkflowAgent` fails the whole turn because
 * of an unknown keyword, format, pattern, reference or dialect. So these are left out, and a format
 * moves to the description. Calls are checked against the server's own schema.
 */
export function agentSchema(serverSchema: Schema): Schema {
  const root = cleanSchema(serverSchema);
  dropDeadReferences(root, root);
  return root;
}

function cleanSchema(from: Schema): Schema {
  const server = tupleAsItems(from);
  const entries = Object.entries(server).flatMap(([keyword, value]) => {
    const cleaned = keywords.get(keyword)?.(value);
    return cleaned === undefined ? [] : [[keyword, cleaned] as const];
  });
  const cleaned: Schema = Object.fromEntries(entries);
  const { format, description } = server;
  if (typeof format === "string") {
    cleaned["description"] =
      typeof description === "string" ? `${description} (${format})` : format;
  }
  loosen(cleaned, server);
  dropIdleKeywords(cleaned);
  return cleaned;
}

/** A tuple in the form of draft-07. */
function tupleAsItems({ prefixItems, ...rest }: Schema): Schema {
  if (prefixItems === undefined) return rest;
  const { items, ...others } = rest;
  const first = schemas(prefixItems);
  if (first === undefined) return others;
  return { ...others, items: prefixItems, ...(items !== undefined && { additionalItems: items }) };
}

/**
 * The cleaned schema must not refuse an input that the server takes. Inside these keywords a shorter
 * schema refuses more, so a keyword that was changed goes.
 */
function loosen(cleaned: Schema, server: Schema): void {
  const isSame = (keyword: string) =>
    JSON.stringify(cleaned[keyword]) === JSON.stringify(server[keyword]);
  if (!isSame("not")) delete cleaned["not"];
  if (!isSame("if")) delete cleaned["if"];
  if (!isSame("oneOf")) {
    cleaned["anyOf"] ??= cleaned["oneOf"];
    delete cleaned["oneOf"];
  }
  const patterns = Object.keys(cleaned["patternProperties"] ?? {});
  if (!patterns.every(isPattern)) delete cleaned["additionalProperties"];
  if (cleaned["anyOf"] === undefined) delete cleaned["anyOf"];
}

/**
 * Strict validators reject keywords that have no effect without another one, or that repeat another one.
 */
function dropIdleKeywords(own: Schema): void {
  if (!Array.isArray(own["items"])) delete own["additionalItems"];
  if (own["then"] === undefined && own["else"] === undefined) delete own["if"];
  if (own["if"] === undefined) {
    delete own["then"];
    delete own["else"];
  }
  const patterns = own["patternProperties"] as Schema | undefined;
  const properties = Object.keys(own["properties"] ?? {});
  for (const pattern of Object.keys(patterns ?? {})) {
    if (!isPattern(pattern)) delete patterns![pattern];
    else if (properties.some((name) => new RegExp(pattern, "u").test(name))) {
      delete patterns![pattern];
      // It may have let other names pass.
      delete own["additionalProperties"];
    }
  }
}

/** Drops references to other documents, to anchors, and to parts that were left out. */
function dropDeadReferences(value: unknown, root: Schema): void {
  if (Array.isArray(value)) return value.forEach((one) => dropDeadReferences(one, root));
  if (!isSchema(value)) return;
  if (typeof value["$ref"] === "string" && !leadsToSchema(value["$ref"], root))
    delete value["$ref"];
  for (const [keyword, one] of Object.entries(value)) {
    if (data.has(keyword)) continue;
    dropDeadReferences(named.has(keyword) ? Object.values(one as object) : one, root);
  }
}

/** Keywords whose values are not schemas, whatever they look like. */
const data = new Set(["default", "const", "enum", "examples"]);
/** Keywords whose values hold schemas by name. */
const named = new Set([
  ...["properties", "patternProperties", "definitions", "$defs", "dependencies"],
]);

function leadsToSchema(reference: string, root: Schema): boolean {
  if (!reference.startsWith("#")) return false;
  if (reference === "#") return true;
  let at: unknown = root;
  for (const part of reference.split("/").slice(1)) {
    const name = decode(part);
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return false;
    at = (at as Schema)[name];
  }
  return reference.startsWith("#/") && (isSchema(at) || typeof at === "boolean");
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}

/** Whether validators can read the pattern. Servers in other languages have other patterns. */
function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
