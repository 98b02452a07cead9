import { isRecord } from "../../base/json-values.ts";
import { McpSessionError } from "../../base/mcp-session-error.ts";
import { formProblem } from "./form-problem.ts";
import type { InputRequests, InputResponses } from "./input-request.ts";

/** As JSON, in bytes. */
const maxAnswerBytes = 65_536;
const maxNameCharacters = 100;
const maxNames = 10;

/**
 * Checks a person's answers before anything is sent: one for each question, each with an action, and forms against
 * their schemas. Only the specification's keywords for forms are checked, with its formats (`email`, `uri`, `date`,
 * `date-time`); the server decides on the rest. A request other than `elicitation/create` takes any object. A missing
 * field does not get its `default`.
 *
 * @param requests the questions of the round
 * @param responses the answers, each of 64 KB as JSON at most
 * @returns a copy of them, as JSON: the answers that were checked
 * @throws {McpSessionError} `INPUT_INVALID` for the first problem, with its place in `data.field`, such as
 *   `confirm.content.ok`, and without the value
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#response-actions
 */
export function checkInputResponses(
  requests: InputRequests,
  responses: InputResponses,
): InputResponses {
  const given = asSent(responses);
  if (!isRecord(given)) throw invalid("responses", "must be an object with an answer for each key");
  const keys = Object.keys(requests);
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(requests, key)) throw invalid(shown(key), notAsked(keys));
  }
  for (const key of keys) {
    if (!Object.hasOwn(given, key))
      throw invalid(shown(key), "has no answer. Answer each question, with decline or cancel too");
    checkAnswer(requests[key], given[key], shown(key));
  }
  return given as InputResponses;
}

function checkAnswer(request: unknown, answer: unknown, field: string): void {
  if (!isRecord(answer)) throw invalid(field, "must be an object");
  if (new TextEncoder().encode(JSON.stringify(answer)).length > maxAnswerBytes)
    throw invalid(field, "must be 64 KB of JSON at most");
  if (!isRecord(request) || request["method"] !== "elicitation/create") return;

  const { action, content, ...others } = answer;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(
      `${field}.${shown(other)}`,
      "is no part of an answer, which has action and content",
    );
  if (action !== "accept" && action !== "decline" && action !== "cancel")
    throw invalid(`${field}.action`, "must be accept, decline or cancel");
  const hasContent = Object.hasOwn(answer, "content");
  if (action !== "accept") {
    if (hasContent) throw invalid(`${field}.content`, `must be left out with ${action}`);
    return;
  }
  const { mode = "form", requestedSchema } = isRecord(request["params"]) ? request["params"] : {};
  if (mode === "form") return checkForm(content, requestedSchema, `${field}.content`);
  if (mode === "url" && hasContent)
    throw invalid(`${field}.content`, "must be left out: a URL is consented to and not filled in");
}

function checkForm(content: unknown, schema: unknown, field: string): void {
  if (!isRecord(content)) throw invalid(field, "must be an object with the fields of the form");
  const problem = formProblem(content, schema);
  if (problem !== undefined) throw invalid(`${field}.${shown(problem.field)}`, problem.fix);
}

/** The answers as the server will read them. */
function asSent(responses: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(responses));
  } catch {
    // The cause could tell a value.
    throw invalid("responses", "must be JSON");
  }
}

function notAsked(keys: readonly string[]): string {
  const names = keys.slice(0, maxNames).map(shown).join(", ");
  const questions =
    keys.length === 0
      ? "This call has none"
      : `The questions are ${names}${keys.length > maxNames ? ", …" : ""}`;
  return `is no question of this call. ${questions}`;
}

/** A name from outside, on one line. */
function shown(name: string): string {
  const line = name.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "\uFFFD");
  return line.length > maxNameCharacters ? `${line.slice(0, maxNameCharacters)}…` : line;
}

/** @param fix completes the sentence that the field begins */
function invalid(field: string, fix: string): McpSessionError {
  const message = `${field} ${fix}. Nothing was sent, and the call still waits.`;
  return new McpSessionError("INPUT_INVALID", message, { data: { field } });
}
