import { confirm, multiselect, select, text } from "@clack/prompts";
import { oneLine, plainText } from "@durable-mcp/core/internal";
import type { FormField, InputResponse, InputResponses } from "@durable-mcp/core/waiting";
import { formProblem } from "@durable-mcp/core/waiting/internal";
import { answerTo, prompt } from "../output/ask.ts";
import { CommandFailure } from "../output/command-failure.ts";
import { choicesOf, type Question, wordsOf } from "./question.ts";

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
  const options = [
    { value: "accept", label: "Answer" },
    { value: "decline", label: "Decline: the server is told no" },
    { value: "cancel", label: "Cancel: the server is told that nobody decided" },
  ] as const;
  const action = await answerTo(
    select<InputResponse["action"]>({ ...prompt(message || oneLine(key)), options: [...options] }),
  );
  if (action !== "accept") return { action };
  const content: Record<string, unknown> = Object.create(null);
  for (const [name, field] of fields) {
    const value = await askField(name, field, required.includes(name));
    if (value !== undefined) content[name] = value;
  }
  return { action, content };
}

const leftOut = "";

/** @returns `undefined` for a field that stays out of the form */
async function askField(name: string, field: FormField, isRequired: boolean): Promise<unknown> {
  const { type } = field;
  const asked = prompt(wordsOf(field, name) + (isRequired ? "" : " (may stay empty)"));
  const choices = choicesOf(field);
  const options = choices?.map(({ value, label }) => ({ value, label: plainText(label) }));
  // A default of another type is none.
  const preset: unknown = field.default;
  if (type === "boolean") {
    return await answerTo(confirm({ ...asked, initialValue: preset === true }));
  }
  if (options?.length === 0 || (type === "array" && options === undefined)) {
    throw new CommandFailure(`${oneLine(name)} has nothing to choose from: answer it with --data.`);
  }
  if (type === "array") {
    const values = new Set(options?.map(({ value }) => value));
    const initialValues = Array.isArray(preset) ? preset.filter((each) => values.has(each)) : [];
    const chosen = await answerTo(
      multiselect<string>({
        ...{ ...asked, options: options ?? [], initialValues, required: isRequired },
      }),
    );
    return chosen.length === 0 && !isRequired ? undefined : chosen;
  }
  const isNumber = type === "number" || type === "integer";
  const valueOf = (given: string) => (isNumber ? numberOf(given) : given);
  const initialValue = ["string", "number"].includes(typeof preset) ? String(preset) : undefined;
  if (options !== undefined) {
    if (!isRequired) options.push({ value: leftOut, label: "(leave it out)" });
    const initial = initialValue === undefined ? {} : { initialValue };
    const chosen = await answerTo(select<string>({ ...asked, options, ...initial }));
    return chosen === leftOut ? undefined : valueOf(chosen);
  }
  const validate = (given = "") => {
    if (given === "") return isRequired ? "The server requires it." : undefined;
    const one = { type: "object", properties: { [name]: field } };
    const problem = formProblem({ [name]: valueOf(given) }, one)?.fix;
    return problem && plainText(problem);
  };
  const initial = initialValue === undefined ? {} : { initialValue: plainText(initialValue) };
  const given = (await answerTo(text({ ...asked, ...initial, validate }))) ?? "";
  return given === "" && !isRequired ? undefined : valueOf(given);
}

/** What is no number stays a text, which the schema refuses. */
function numberOf(given: string): unknown {
  return given.trim() === "" || Number.isNaN(Number(given)) ? given : Number(given);
}
