import { isRecord, oneLine } from "@durable-mcp/core/internal";
import type { FormField, InputRequest } from "@durable-mcp/core/waiting";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { CallRow } from "../store/look.ts";
import { printTime } from "../output/print-values.ts";

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
      `  Open this page yourself${host}, and do there what it asks. This program does not open it:`,
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

/** The tool or prompt of a call, or the resource's URI, and its connection. */
export function calledOf(call: WaitingRecord | undefined): string {
  return call === undefined ? "" : oneLine(`${call.connection}: ${toolOf(call)}`, 60);
}

function toolOf({ request: { method, params } }: WaitingRecord): string {
  return String(params[method === "resources/read" ? "uri" : "name"]);
}

/** What a person has to do for a call, in one line. */
export function whatToDo(row: CallRow, now: number): string {
  const { call, isSealed, isNewer } = row;
  if (isSealed) return "sealed: --key-env opens it";
  if (isNewer) return "written by a later release";
  if (call === undefined) return "does not parse";
  switch (stateOf(row, now)) {
    case "waiting":
      break;
    case pastItsTime:
      return "asked too long ago; the application says whether it may be asked again";
    case "answering":
      return "an answer is on its way";
    case "settled":
      if (call.isDelivered) return "nothing: the conversation has the result";
      return "answered; the next step that resumes its messages gets the result";
    default:
      return call.state;
  }
  if (call.kind === "authorization")
    return `the user signs in to ${oneLine(call.connection)} in the application, if that is not done; the next step then carries the call out`;
  const [first, ...others] = questionsOf(call);
  if (first === undefined) return "its server only wants the request again";
  const page = first.mode === "url" ? "a page to open: " : "";
  return `${page}${oneLine(first.message, 120)}${others.length > 0 ? ` (and ${others.length} more)` : ""}`;
}

export const pastItsTime = "past its time";

/** The state of a call as it is by now. A look writes nothing, so time has not ended it in the store yet. */
export function stateOf({ call, isSealed }: CallRow, now: number): string {
  if (isSealed || call === undefined) return isSealed ? "sealed" : "unreadable";
  return call.state === "waiting" && call.expiresAt <= now ? pastItsTime : call.state;
}

/** A call for `--json`, with its questions as the server asked them, and without anything secret. */
export function callJson(row: CallRow, now: number) {
  const { call, agent, agentSession, owner, lastUsedAt, bytes } = row;
  const common = { row: row.row, owner, agent, agentSession, state: stateOf(row, now) };
  const times = { lastUsedAt: printTime(lastUsedAt), bytes };
  if (call === undefined) return { ...common, ...times };
  const { connection, kind, request, round, askedAt, expiresAt, requests, url } = call;
  return {
    ...{ ...common, connection, kind, server: new URL(url).origin, method: request.method },
    ...{ tool: toolOf(call), round, askedAt: printTime(askedAt) },
    ...{ expiresAt: printTime(expiresAt), ...times, todo: whatToDo(row, now), questions: requests },
  };
}
