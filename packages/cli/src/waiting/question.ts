import { isRecord, oneLine } from "@durable-mcp/core/internal";
import type { FormField, InputRequest } from "@durable-mcp/core/waiting";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";

/** A question of a server, as a person reads it. */
export interface Question {
  readonly key: string;
  readonly mode: "form" | "url" | "other";
  readonly message: string;
  /** What a person opens, in the mode `url`. */
  readonly url?: string | undefined;
  /** The fields of a form. */
  readonly fields: readonly (readonly [name: string, field: FormField])[];
  readonly required: readonly string[];
}

/** The questions of a call. What a server says in another form is taken as a question for a program. */
export function questionsOf({ requests }: Pick<WaitingRecord, "requests">): Question[] {
  return Object.entries(requests).map(([key, request]) => questionOf(key, request));
}

function questionOf(key: string, { method, params }: InputRequest): Question {
  const own: Record<string, unknown> = isRecord(params) ? params : {};
  const { mode = "form", message, url, requestedSchema } = own;
  const said = { key, message: message === undefined ? "" : lineOf(message, 2_000) };
  const none = { fields: [], required: [] };
  if (method !== "elicitation/create") return { ...said, ...none, mode: "other" };
  if (mode === "url") return { ...said, ...none, mode, url: lineOf(url, 2_000) };
  if (mode !== "form" || !isRecord(requestedSchema)) return { ...said, ...none, mode: "other" };
  const { properties, required } = requestedSchema;
  const fields = isRecord(properties) ? Object.entries(properties) : [];
  return {
    ...said,
    mode: "form",
    fields: fields.filter((field): field is [string, FormField] => isRecord(field[1])),
    required: Array.isArray(required) ? required.filter((name) => typeof name === "string") : [],
  };
}

/** The values from which a field is chosen, with their titles; `undefined` for a field that is free. */
export function choicesOf(field: FormField): { value: string; label: string }[] | undefined {
  const own: Record<string, unknown> = { ...field };
  const source: Record<string, unknown> = isRecord(own["items"]) ? own["items"] : own;
  const titled = source["oneOf"] ?? source["anyOf"];
  if (Array.isArray(titled)) {
    return titled.filter(isRecord).map((choice) => {
      const { const: constant, title } = choice;
      return { value: textOf(constant), label: lineOf(title ?? constant) };
    });
  }
  const { enum: values, enumNames } = source;
  if (!Array.isArray(values)) return undefined;
  const names: unknown[] = Array.isArray(enumNames) ? enumNames : [];
  return values.map((value: unknown, index) => {
    return { value: textOf(value), label: lineOf(names[index] ?? value) };
  });
}

/** Servers also put numbers, and worse, where the specification wants texts. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function lineOf(value: unknown, longest?: number): string {
  return oneLine(textOf(value), longest);
}

/** The title and the description of a field, each on one line. */
export function wordsOf({ title, description }: FormField, name?: string): string {
  const words = [title ?? name, description].map((each: unknown) => lineOf(each));
  return words.filter((each) => each !== "").join(": ");
}

/** A question and its fields, as lines. */
export function printQuestion({ key, mode, message, url, fields, required }: Question): string {
  const lines = [`${oneLine(key)}: ${message}`];
  if (mode === "url" && url !== undefined) {
    const host = URL.canParse(url) ? ` (on ${new URL(url).host})` : "";
    lines.push(
      `  A page for the user of the call${host}, which this program does not open:`,
      `  ${url}`,
    );
  }
  if (mode === "other") lines.push("  This is no question for a person: answer it with --data.");
  for (const [name, field] of fields) {
    const is = required.includes(name) ? "required" : "optional";
    const choices = choicesOf(field)?.map(({ value, label }) =>
      value === label ? label : `${oneLine(value)} (${label})`,
    );
    const kind = choices
      ? `one${field.type === "array" ? " or more" : ""} of ${choices.join(", ")}`
      : lineOf(field.type);
    const words = wordsOf(field);
    lines.push(`  ${oneLine(name)}, ${is}: ${kind}${words === "" ? "" : `. ${words}`}`);
  }
  return lines.join("\n");
}
