import { oneLine } from "@durable-mcp/core/internal";
import type { FormField, InputResponse, InputResponses } from "@durable-mcp/core/waiting";
import { formProblem } from "@durable-mcp/core/waiting/internal";
import { askChoice, askChoices, askText, askYesOrNo } from "../output/ask.ts";
import { CommandFailure } from "../output/command-failure.ts";
import { choicesOf, type Question, wordsOf } from "./describe-question.ts";

/** Asks the person at the terminal for an answer to each question. */
export async function askAll(questions: readonly Question[]): Promise<InputResponses> {
  const responses: Record<string, InputResponse> = Object.create(null);
  for (const question of questions) responses[question.key] = await askOne(question);
  return responses;
}

async function askOne({ mode, key, message, fields, required }: Question): Promise<InputResponse> {
  if (mode === "other") {
    throw new CommandFailure(`${oneLine(key)} is no question for a person: answer it with --data.`);
  }
  const accept = mode === "url" ? "Yes, I go to the page" : "Answer";
  const action = await askChoice(message === "" ? oneLine(key) : message, [
    { value: "accept", label: accept },
    { value: "decline", label: "Decline: the server is told no" },
    { value: "cancel", label: "Cancel: the server is told that nobody decided" },
  ]);
  if (action === "decline" || action === "cancel") return { action };
  if (mode === "url") return { action: "accept" };
  const content: Record<string, unknown> = Object.create(null);
  for (const [name, field] of fields) {
    const value = await askField(name, field, required.includes(name));
    if (value !== undefined) content[name] = value;
  }
  return { action: "accept", content };
}

const leftOut = "";

/** @returns `undefined` for a field that stays out of the form */
async function askField(name: string, field: FormField, isRequired: boolean): Promise<unknown> {
  const { type } = field;
  const message = wordsOf(field, name) + (isRequired ? "" : " (may stay empty)");
  const choices = choicesOf(field);
  // A default of another type is none.
  const preset: unknown = field.default;
  if (type === "boolean") return await askYesOrNo(message, preset === true);
  if (choices?.length === 0 || (type === "array" && choices === undefined)) {
    throw new CommandFailure(`${oneLine(name)} has nothing to choose from: answer it with --data.`);
  }
  if (type === "array") {
    const values = new Set(choices?.map(({ value }) => value));
    const initialValues = Array.isArray(preset) ? preset.filter((each) => values.has(each)) : [];
    const chosen = await askChoices(message, choices ?? [], { initialValues, isRequired });
    return chosen.length === 0 && !isRequired ? undefined : chosen;
  }
  const isNumber = type === "number" || type === "integer";
  const valueOf = (text: string) => (isNumber ? numberOf(text) : text);
  const initial = ["string", "number"].includes(typeof preset) ? String(preset) : undefined;
  if (choices !== undefined) {
    const none = isRequired ? [] : [{ value: leftOut, label: "(leave it out)" }];
    const chosen = await askChoice(message, [...choices, ...none], initial);
    return chosen === leftOut ? undefined : valueOf(chosen);
  }
  const text = await askText(message, {
    ...(initial !== undefined && { initialValue: initial }),
    validate(given) {
      if (given === "") return isRequired ? "The server requires it." : undefined;
      const one = { type: "object", properties: { [name]: field } };
      return formProblem({ [name]: valueOf(given) }, one)?.fix;
    },
  });
  return text === "" && !isRequired ? undefined : valueOf(text);
}

/** What is no number stays a text, which the schema refuses. */
function numberOf(text: string): unknown {
  return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
}
