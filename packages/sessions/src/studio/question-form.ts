import type { InputResponses } from "@durable-mcp/core/waiting";
import {
  acceptRequest,
  inputLimits,
  type QuestionField,
  type ReadRequest,
  readRequest,
} from "@durable-mcp/core/waiting/form";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { attributes, markup, type Html, type Part, raw } from "./markup.ts";

/** What was sent, and what is wrong with it. */
export interface Refused {
  readonly given: FormData;
  readonly message: string;
  /** As the check of answers names it, such as `delivery.content.time`. */
  readonly field: string | undefined;
}

const requestsOf = (call: WaitingRecord): ReadRequest[] =>
  Object.entries(call.requests).map(([key, request]) => readRequest(key, request));

/** The questions of a call, for somebody who may not answer. */
export function shownQuestions(call: WaitingRecord): Part {
  return requestsOf(call).map((request) => {
    const fields = request.mode === "form" ? request.fields.map(({ title }) => title) : [];
    const page = request.mode === "url" && markup` At <strong>${request.url.host}</strong>.`;
    return markup`<blockquote><p>${request.message}${page}</p>${fields.length > 0 && markup`<p class="soft">Asked for: ${fields.join(", ")}</p>`}</blockquote>`;
  });
}

/** The questions of a call as the inputs of a form. `id` tells its inputs from those of other calls. */
export function questionInputs(call: WaitingRecord, id: string, refused?: Refused): Html {
  const requests = requestsOf(call);
  const fields = requests.flatMap((request) => (request.mode === "form" ? request.fields : []));
  const isOfField = fields.some(({ path }) => path === refused?.field);
  let number = 0;
  const inputs = (request: ReadRequest) =>
    request.mode === "form"
      ? request.fields.map((field) => fieldOf(field, `${id}-${(number += 1)}`, refused))
      : markup`<p>This question cannot be answered here.</p>`;
  return markup`${requests.map(
    (request) => markup`<fieldset><legend>${request.message}</legend>${inputs(request)}</fieldset>`,
  )}${refused && !isOfField && markup`<p class="problem" role="alert">${refused.message}</p>`}`;
}

/** Whether all questions of a call are forms. */
export function isAnswerable(call: WaitingRecord): boolean {
  return requestsOf(call).every(({ mode }) => mode === "form");
}

/** The answers in what was sent. */
export function responsesIn(form: FormData, call: WaitingRecord): InputResponses {
  const isAccepted = form.get("action") === "accept";
  const responses = requestsOf(call).map((request) => {
    if (!isAccepted) return [request.key, { action: "decline" }];
    return [request.key, acceptRequest(request, inUtc(form, request))];
  });
  return Object.fromEntries(responses) as InputResponses;
}

/** Times are in UTC, for a page without scripts does not know another zone. */
function inUtc(form: FormData, request: ReadRequest): FormData {
  const own = new FormData();
  const moments = request.mode === "form" ? request.fields.filter(isMoment) : [];
  for (const [name, value] of form) {
    const isOfMoment = value !== "" && moments.some((field) => field.name === name);
    own.append(name, isOfMoment ? `${value as string}Z` : value);
  }
  return own;
}

const isMoment = (field: QuestionField) => inputLimits(field).type === "datetime-local";

function fieldOf(field: QuestionField, id: string, refused: Refused | undefined): Html {
  const { schema, choices, isRequired, description } = field;
  const given = refused ? refused.given.getAll(field.name).map(String) : defaultsOf(field);
  const problem = refused?.field === field.path ? refused.message : undefined;
  const title = `${field.title}${isMoment(field) ? " (UTC)" : ""}${isRequired ? " *" : ""}`;
  const common = {
    name: raw(field.name),
    "aria-describedby": `${id}-notes`,
    ...(problem !== undefined && { "aria-invalid": "true", autofocus: true as const }),
  };
  const notes = markup`<p id="${id}-notes" class="notes">${description}${
    problem !== undefined && markup` <span class="problem" role="alert">${problem}</span>`
  }</p>`;
  const box = (value: string, label: string, at: string) =>
    markup`<label class="choice" for="${at}"><input${attributes({ ...common, id: at, type: "checkbox", value: raw(value), checked: given.includes(value) })}> ${label}</label>`;
  if (schema.type === "boolean") return markup`${box("true", title, id)}${notes}`;
  if (schema.type === "array") {
    const boxes = choices?.map((choice, at) => box(choice.value, choice.title, `${id}-${at}`));
    return markup`<fieldset><legend>${title}</legend>${boxes}${notes}</fieldset>`;
  }
  const label = markup`<label for="${id}">${title}</label>`;
  if (choices !== undefined) {
    const options = choices.map(
      (choice) =>
        markup`<option${attributes({ value: raw(choice.value), selected: given.includes(choice.value) })}>${choice.title}</option>`,
    );
    return markup`${label}<select${attributes({ ...common, id, required: isRequired })}><option value="">${isRequired ? "Choose …" : "–"}</option>${options}</select>${notes}`;
  }
  const value = given[0] === undefined ? undefined : raw(given[0]);
  return markup`${label}<input${attributes({ ...common, id, required: isRequired, ...inputLimits(field), value })}>${notes}`;
}

/** What a field starts with, as the value of its input. */
function defaultsOf(field: QuestionField): string[] {
  const given: unknown = field.schema.default;
  if (isMoment(field)) {
    const time = new Date(typeof given === "string" ? given : Number.NaN);
    return Number.isNaN(time.getTime()) ? [] : [time.toISOString().slice(0, 16)];
  }
  const isList = Array.isArray(given);
  return (isList ? given : [given]).flatMap((value: unknown) =>
    ["string", "number", "boolean"].includes(typeof value) ? [String(value)] : [],
  );
}
