import type { FormField, InputRequest, InputResponse } from "./input-request.ts";

/** One of the values that a field offers. */
export interface Choice {
  readonly value: string;
  /** For people. */
  readonly title: string;
}

/** A field of a server's form. All texts are the server's. */
export interface QuestionField {
  /** The input's name in the form. No other field of any question has it. */
  readonly name: string;
  /** The field's own name, as the server has it. */
  readonly key: string;
  /** What problems have as their `field`, such as `delivery.content.time`. */
  readonly path: string;
  /** @default the field's name, in words */
  readonly title: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  /** What may be chosen; `undefined` for a field without choices. */
  readonly choices: readonly Choice[] | undefined;
  /** As the server sent it. Nobody has checked it. */
  readonly schema: FormField;
}

/** The page at which a person answers. */
export interface QuestionUrl {
  /** The whole URL, of `http:` or `https:` and without a user name. */
  readonly href: string;
  readonly scheme: string;
  /** Show it apart from the rest: it says who gets the answer. In ASCII, as browsers' address bars have it. */
  readonly host: string;
  /** What follows the host. */
  readonly rest: string;
}

/** A question as a page shows it. */
export type ReadRequest = { readonly key: string; readonly message: string } & (
  | { readonly mode: "form"; readonly fields: readonly QuestionField[] }
  | { readonly mode: "url"; readonly url: QuestionUrl }
  /** Not for a person, or with a URL that no page may link to. */
  | { readonly mode: "none" }
);

/** Reads a question of a server. Nothing in it is trusted: what is no text is left out. */
export function readRequest(key: string, request: InputRequest): ReadRequest {
  const params: Record<string, unknown> = { ...request.params };
  const message = textOf(params["message"]) ?? "";
  const isAsked = request.method === "elicitation/create";
  if (!isAsked || params["mode"] === "url") {
    const url = isAsked && readUrl(params["url"]);
    return url ? { mode: "url", key, message, url } : { mode: "none", key, message };
  }
  const schema = recordOf(params["requestedSchema"]);
  const required = listOf(schema["required"]);
  const fields = Object.entries(recordOf(schema["properties"])).map(([name, property]) => {
    const field = recordOf(property) as unknown as FormField;
    return {
      // Keys and names are the server's, and may have dots.
      name: JSON.stringify([key, name]),
      key: name,
      path: `${key}.content.${name}`,
      title: textOf(field.title) || inWords(name),
      description: textOf(field.description),
      isRequired: required.includes(name),
      choices: choicesOf(recordOf(property)),
      schema: field,
    };
  });
  return { mode: "form", key, message, fields };
}

/** The answer of somebody who accepts. Consent to a URL has no content; optional fields that are empty are left out. */
export function acceptRequest(request: ReadRequest, form: FormData): InputResponse {
  if (request.mode !== "form") return { action: "accept" };
  const content = request.fields
    .map((field) => [field.key, readField(form, field)] as const)
    .filter(([, value]) => value !== undefined);
  return { action: "accept", content: Object.fromEntries(content) };
}

type FieldValue = string | number | boolean | readonly string[];

/** The value of a field, as its schema wants it. `undefined` leaves the field out. */
function readField(form: FormData, field: QuestionField): FieldValue | undefined {
  const { name, schema, isRequired } = field;
  if (schema.type === "boolean") return form.has(name);
  if (schema.type === "array") {
    const values = form.getAll(name).filter((value) => typeof value === "string");
    return values.length > 0 || isRequired ? values : undefined;
  }
  const given = form.get(name);
  const text = typeof given === "string" ? given : "";
  const { type } = inputLimits(field);
  const isNumber = type === "number";
  if (text === "" && (isNumber || !isRequired)) return undefined;
  if (isNumber) return Number(text);
  const isMoment = type === "datetime-local" && !Number.isNaN(Date.parse(text));
  return isMoment ? new Date(text).toISOString() : text;
}

const typesOfFormats = new Map<unknown, string>([
  ["email", "email"],
  ["uri", "url"],
  ["date", "date"],
  ["date-time", "datetime-local"],
]);

/**
 * The attributes of a field's `<input>`, unless it has choices: its `type`, and of the server's keywords those that a
 * browser checks in no time. A regular expression could run for ever.
 */
export function inputLimits({ schema }: Pick<QuestionField, "schema">) {
  const { type, format, ...keywords } = schema as unknown as Record<string, unknown>;
  const numberOf = (name: string) =>
    typeof keywords[name] === "number" ? keywords[name] : undefined;
  if (type !== "number" && type !== "integer") {
    const lengths = { minLength: numberOf("minLength"), maxLength: numberOf("maxLength") };
    return { type: typesOfFormats.get(format) ?? "text", ...lengths };
  }
  const step = type === "integer" ? 1 : ("any" as const);
  return { type: "number", step, min: numberOf("minimum"), max: numberOf("maximum") };
}

function choicesOf(field: Record<string, unknown>): Choice[] | undefined {
  const own = { ...field, ...(field["type"] === "array" && recordOf(field["items"])) };
  const { oneOf, anyOf, enum: values, enumNames } = own as Record<string, unknown>;
  const titled = anyOf ?? oneOf;
  const list = titled ?? values;
  if (!Array.isArray(list)) return undefined;
  return list.flatMap((choice: unknown, index) => {
    const value = titled ? recordOf(choice)["const"] : choice;
    const title = titled ? recordOf(choice)["title"] : listOf(enumNames)[index];
    return typeof value === "string" ? [{ value, title: textOf(title) ?? value }] : [];
  });
}

/** A link may have a script in it, or a user name that looks like another host. */
function readUrl(value: unknown): QuestionUrl | undefined {
  if (typeof value !== "string" || !URL.canParse(value)) return undefined;
  const { href, protocol, host, username, password, origin } = new URL(value);
  const isSafe = /^https?:$/.test(protocol) && username + password === "";
  const parts = { href, host, scheme: `${protocol}//`, rest: href.slice(origin.length) };
  return isSafe ? parts : undefined;
}

/** `deliveryTime` and `delivery_time` are a delivery time. */
function inWords(name: string): string {
  const words = name
    .replaceAll(/[_-]+/g, " ")
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .trim();
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase() || name;
}

const textOf = (value: unknown) => (typeof value === "string" ? value : undefined);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
