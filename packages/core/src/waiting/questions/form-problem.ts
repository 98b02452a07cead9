import { format as formatChecks } from "@cfworker/json-schema";
import { isRecord } from "../../base/json-values.ts";

/** What is wrong with a form, in words that complete the sentence that the field begins. */
export interface FormProblem {
  /** The name of the field in the form. */
  readonly field: string;
  readonly fix: string;
}

/**
 * Finds the first field of a filled-in form that its schema does not allow. Only the keywords that the specification
 * has for forms count. A regular expression of a server could run for ever, so none is run, and what another keyword
 * says is for the server to decide, as is a keyword whose value makes no sense. The work is bounded by the sizes of
 * the form and the schema.
 *
 * @param content the form as JSON holds it
 * @param schema from the server
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema
 */
export function formProblem(
  content: Readonly<Record<string, unknown>>,
  schema: unknown,
): FormProblem | undefined {
  if (!isRecord(schema)) return undefined;
  const fields = new Map(
    isRecord(schema["properties"]) ? Object.entries(schema["properties"]) : [],
  );
  const required = Array.isArray(schema["required"]) ? new Set<unknown>(schema["required"]) : [];
  for (const name of required) {
    if (typeof name !== "string" || Object.hasOwn(content, name)) continue;
    return {
      field: name,
      fix: "is missing. The server requires it: add it, or decline the question",
    };
  }
  const isClosed = isRecord(schema["properties"]) && !mayHaveOthers(schema);
  for (const [name, value] of Object.entries(content)) {
    const field = fields.get(name);
    const isKnown = fields.has(name) || (required instanceof Set && required.has(name));
    if (isClosed && !isKnown) return { field: name, fix: "is no field of this form: leave it out" };
    const fix = isRecord(field) ? valueProblem(value, field) : undefined;
    if (fix !== undefined) return { field: name, fix };
  }
  return undefined;
}

/** Keywords beside `properties` that can allow a field. */
const otherSources = [
  ...["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies"],
  "patternProperties",
];

/**
 * Most servers drop a field that they did not ask for, without a word. It is refused, so that nothing that a person
 * wrote gets lost, unless the schema allows it.
 */
function mayHaveOthers(schema: Record<string, unknown>): boolean {
  const others = schema["additionalProperties"];
  if (others === true || isRecord(others)) return true;
  return otherSources.some((keyword) => schema[keyword] !== undefined);
}

function valueProblem(value: unknown, field: Record<string, unknown>): string | undefined {
  const problem = typeProblem(value, field["type"]);
  if (problem !== undefined) return problem;
  if (typeof value === "string") return textProblem(value, field);
  if (typeof value === "number") return numberProblem(value, field);
  return Array.isArray(value) ? listProblem(value, field) : undefined;
}

const types = new Map<unknown, readonly [is: (value: unknown) => boolean, name: string]>([
  ["string", [(value) => typeof value === "string", "text"]],
  ["number", [(value) => typeof value === "number", "a number"]],
  ["integer", [Number.isInteger, "a whole number"]],
  ["boolean", [(value) => typeof value === "boolean", "true or false"]],
  ["array", [Array.isArray, "a list"]],
  ["object", [isRecord, "an object"]],
  ["null", [(value) => value === null, "null"]],
]);

/** @param type of the field, or several; one has to be right */
function typeProblem(value: unknown, type: unknown): string | undefined {
  const allowed = (Array.isArray(type) ? type : [type]).map((name) => types.get(name));
  const isRight = allowed.some((one) => one === undefined || one[0](value));
  return isRight ? undefined : `must be ${allowed.map((one) => one?.[1]).join(" or ")}`;
}

const formats = new Map<unknown, string>([
  ["email", "an email address"],
  ["uri", "a whole URL"],
  ["date", "a date such as 2026-07-28"],
  ["date-time", "a time with its date and zone, such as 2026-07-28T09:30:00Z"],
]);

function textProblem(value: string, field: Record<string, unknown>): string | undefined {
  const { minLength: min, maxLength: max, format } = field;
  const characters = Array.from(value).length;
  if (typeof min === "number" && characters < min) return `must have at least ${min} characters`;
  if (typeof max === "number" && characters > max) return `must have at most ${max} characters`;
  const what = formats.get(format);
  if (what !== undefined && formatChecks[format as string]?.(value) === false)
    return `must be ${what}`;
  return choiceProblem([value], field, "must be one of the values of its question");
}

function numberProblem(value: number, field: Record<string, unknown>): string | undefined {
  const { minimum: min, maximum: max } = field;
  if (typeof min === "number" && value < min) return `must be ${min} or more`;
  if (typeof max === "number" && value > max) return `must be ${max} or less`;
  return choiceProblem([value], field, "must be one of the values of its question");
}

function listProblem(value: readonly unknown[], field: Record<string, unknown>) {
  const { minItems: min, maxItems: max, items } = field;
  if (typeof min === "number" && value.length < min) return `must have at least ${min} values`;
  if (typeof max === "number" && value.length > max) return `must have at most ${max} values`;
  if (!isRecord(items)) return undefined;
  const wrong = value.map((item) => typeProblem(item, items["type"])).find(Boolean);
  if (wrong !== undefined) return `must be a list of values; each ${wrong}`;
  return choiceProblem(value, items, "must be a list of values of its question");
}

function choiceProblem(
  values: readonly unknown[],
  field: Record<string, unknown>,
  fix: string,
): string | undefined {
  const { enum: listed, oneOf, anyOf } = field;
  const isRight = [listed, titledValues(oneOf), titledValues(anyOf)].every((choices) => {
    // Objects can be equal without being the same, and no form has them.
    if (!Array.isArray(choices) || choices.some(isObject)) return true;
    const set = new Set<unknown>(choices);
    return values.every((value) => set.has(value));
  });
  return isRight ? undefined : fix;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** The values of choices with titles, if these are nothing else. */
function titledValues(choices: unknown): unknown[] | undefined {
  if (!Array.isArray(choices)) return undefined;
  const areValues = choices.every((choice) => isRecord(choice) && Object.hasOwn(choice, "const"));
  return areValues ? choices.map((choice: { const: unknown }) => choice.const) : undefined;
}
