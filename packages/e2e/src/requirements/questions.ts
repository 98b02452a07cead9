import { inStatelessSpec, type Requirement } from "./requirement.ts";

const duties = "e2e/src/waiting/client-duties.matrix.test.ts";
const leg = "core/src/waiting/send-leg.test.ts";
/** The chat example, in a browser. */
const chat = "examples/src/chat/chat.matrix.test.ts";
const forms = "asks with forms and URLs at once, and shows what is wrong beside the field";
const unusual = "e2e/src/waiting/unusual-answers.test.ts";
const suite = "e2e/src/conformance/questions.matrix.test.ts";
const clientRequirements = inStatelessSpec(
  "basic/patterns/mrtr#client-requirements-basic-workflow",
);

/** 2026-07-28: what a client owes a server that asks the user something (multi-round-trip requests). */
export const questionRequirements: readonly Requirement[] = [
  {
    id: "M24",
    role: "client",
    level: "MUST, MAY",
    spec: clientRequirements,
    statement: "Gather what the server asks before the retry; without a question, retry at once.",
    tests: {
      [duties]: ["with the answers and the state as it came", "only wants it again"],
      "core/src/waiting/check-input-responses.test.ts": ["takes one answer for each question"],
    },
  },
  {
    id: "M25",
    role: "client",
    level: "MUST NOT",
    spec: clientRequirements,
    statement: "Send a `requestState` if none came.",
    tests: { [duties]: ["has no state if the server gave none"] },
  },
  {
    id: "M26",
    role: "client",
    level: "MUST",
    spec: clientRequirements,
    statement: "Give the retry a request id of its own.",
    tests: { [duties]: ["under an id of its own"] },
  },
  {
    id: "M27",
    role: "client",
    level: "MUST NOT",
    spec: clientRequirements,
    statement: "Use questions, answers or state for any other request.",
    tests: { [duties]: ["no other request has a call's answers or state"] },
  },
  {
    id: "M28",
    role: "client",
    level: "guidance",
    spec: inStatelessSpec("basic/patterns/mrtr#multi-round-trip-requests"),
    statement: "Retry the original request: the same method and parameters.",
    tests: {
      [duties]: ["a retry repeats the call"],
      [leg]: ["repeats the request and what describes it"],
    },
  },
  {
    id: "M29",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("client/elicitation#capabilities"),
    statement: "Declare elicitation in each request, with the modes that a person can be asked in.",
    tests: {
      [duties]: ["each request says that a person can be asked"],
      "core/src/waiting/waiting-fetch.test.ts": ["declares in each request"],
    },
  },
  {
    id: "M30",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("client/elicitation#elicitation-requests"),
    statement: "Take a question without `mode` for a form.",
    tests: {
      [unusual]: ["a question without a mode is a form"],
      [suite]: ["is asked in one and answers in another"],
    },
  },
  {
    id: "M31",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("client/elicitation#security-considerations"),
    statement: "Show which server asks.",
    tests: { [duties]: ["shown whole beside the server's origin"] },
    note: "A waiting call names the server's origin; the application shows it.",
  },
  {
    id: "M32",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("client/elicitation#user-interaction-model"),
    statement: "Offer to decline and to cancel.",
    tests: {
      [duties]: ["the server gets a %s too"],
      [leg]: ["sends decline and cancel"],
      [chat]: ["one is declined"],
      "core/src/waiting/check-input-responses.test.ts": ["takes decline and cancel"],
    },
  },
  {
    id: "M33",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("client/elicitation#user-interaction-model"),
    statement: "Let the user look at a form's answers, and change them, before they are sent.",
    tests: { [chat]: [forms] },
    note: "The application's: nothing is sent before it gives the answers.",
  },
  {
    id: "M34",
    role: "client",
    level: "SHOULD",
    spec: inStatelessSpec("client/elicitation#form-mode-security"),
    statement: "Check answers against the form's schema.",
    tests: {
      [duties]: ["answers that do not fit the form are not sent"],
      "core/src/waiting/form-problem.test.ts": ["agrees with a JSON Schema validator"],
    },
  },
  {
    id: "M35",
    role: "client",
    level: "MUST NOT",
    spec: inStatelessSpec("client/elicitation#safe-url-handling"),
    statement: "Fetch a question's URL, or anything about it, in advance.",
    tests: {
      [duties]: ["nobody opens a question's URL"],
      [leg]: ["shows the URL of a question, and fetches none"],
    },
  },
  {
    id: "M36",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("client/elicitation#safe-url-handling"),
    statement: "Show the whole URL, with its host, and open it only with consent.",
    tests: { [duties]: ["which is shown whole"], [chat]: [forms] },
  },
  {
    id: "M37",
    role: "client",
    level: "SHOULD",
    spec: inStatelessSpec("client/elicitation#example-request-sensitive-data"),
    statement: "Take `accept` for consent and not for an end: let the user try again or cancel.",
    tests: { [duties]: ["does not mean that the work there is done"], [chat]: [forms] },
  },
  {
    id: "M38",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("basic/index#resulttype"),
    statement: "Take a result with an unknown `resultType` for invalid.",
    tests: {
      [unusual]: ["a retry with a result of an unknown kind"],
      "core/src/waiting/complete-result.test.ts": ["an answer of another kind stays as it is"],
    },
    note: "For the answer to a retry. In the answer to a client's own request it is left to the client.",
  },
  {
    id: "M39",
    role: "server",
    level: "MUST NOT",
    spec: inStatelessSpec("basic/patterns/mrtr#supported-requests"),
    statement: "Ask in answer to other requests than a call, a read or a prompt.",
    tests: { [unusual]: ["questions in answer to another request are left to the client"] },
  },
  {
    id: "M40",
    role: "client",
    level: "MUST",
    spec: inStatelessSpec("basic/authorization/index#token-requirements"),
    statement: "Send the authorization with every request, a retry included.",
    tests: {
      "e2e/src/waiting/connection-duties.matrix.test.ts": ["each leg has the token of the process"],
    },
    note: "With one's own client the application's fetch adds it.",
  },
  {
    id: "M41",
    role: "server",
    level: "MUST",
    spec: inStatelessSpec("basic/patterns/mrtr#server-requirements-basic-workflow"),
    statement: "Ask something or give a `requestState`.",
    tests: {
      "core/src/waiting/question.test.ts": ["takes questions, a state, or both"],
      [unusual]: ["a retry with a result of an unknown kind"],
    },
    note: "A client's side of it: other results are left to the client, and end a retry with an unknown outcome.",
  },
  {
    id: "M42",
    role: "server",
    level: "MUST NOT",
    spec: inStatelessSpec("basic/patterns/mrtr#server-requirements-basic-workflow"),
    statement: "Ask for what the client has not declared.",
    tests: {
      "core/src/waiting/check-input-responses.test.ts": ["a question that is none for a person"],
    },
    note: "A client's side of it: such a question waits too, and takes any object for an answer.",
  },
  {
    id: "M43",
    role: "client",
    level: "SHOULD",
    spec: inStatelessSpec("client/elicitation#requested-schema"),
    statement: "Start a form with the defaults that the server names.",
    tests: { [chat]: [forms] },
    note: "The application's: answers are sent as it gives them.",
  },
  {
    id: "M44",
    role: "client",
    level: "SHOULD",
    spec: inStatelessSpec("client/elicitation#safe-url-handling"),
    statement: "Set the host apart, and warn of hosts that look like others.",
    tests: { [chat]: [forms] },
    note: "The application's. The chat example shows the host in ASCII (`xn--…`), and no other warning.",
  },
];
