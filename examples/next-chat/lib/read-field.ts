import type { FormField } from "@durable-mcp/core/waiting";

/** The value of one field of a server's form, as its schema wants it. `undefined` leaves the field out. */
export function readField(
  form: FormData,
  name: string,
  schema: FormField,
  isRequired: boolean,
): string | number | boolean | string[] | undefined {
  if (schema.type === "boolean") return form.has(name);
  if (schema.type === "array") {
    const values = form.getAll(name).filter((value) => typeof value === "string");
    return values.length > 0 || isRequired ? values : undefined;
  }
  const given = form.get(name);
  const text = typeof given === "string" ? given : "";
  if (text === "" && !(isRequired && schema.type === "string")) return undefined;
  if (schema.type !== "string") return Number(text);
  const isMoment = "format" in schema && schema.format === "date-time" && text !== "";
  return isMoment ? new Date(text).toISOString() : text;
}

/** The values to choose from, with the words for them. */
export function choicesOf(schema: FormField): { value: string; title: string }[] | undefined {
  const { anyOf, enum: values } = schema.type === "array" ? schema.items : noChoices;
  const titled = anyOf ?? ("oneOf" in schema ? schema.oneOf : undefined);
  if (titled) return titled.map(({ const: value, title }) => ({ value, title }));
  const names = "enumNames" in schema ? schema.enumNames : undefined;
  const all = values ?? ("enum" in schema ? schema.enum : undefined);
  return all?.map((value, index) => ({ value, title: names?.[index] ?? value }));
}

const noChoices = { anyOf: undefined, enum: undefined };
