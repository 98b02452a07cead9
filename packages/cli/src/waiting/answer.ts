import { readFileSync } from "node:fs";
import {
  checkInputResponses,
  type InputResponses,
  type WaitingCall,
} from "@durable-mcp/core/waiting";
import { McpSessionError } from "@durable-mcp/core";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { Command } from "commander";
import { confirmAct, hasPerson } from "../output/ask.ts";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import { print, printJson, tell } from "../output/print.ts";
import { rowsNamed } from "../store/choose-rows.ts";
import { type CallRow, chooseCalls } from "../store/look.ts";
import { type OpenedStore, withStore } from "../store/open-store.ts";
import { printTime } from "../output/print-values.ts";
import { accessTo, type ServerOptions } from "../store/server-access.ts";
import { type StoreOptions, typed } from "../store/store-options.ts";
import { askAll } from "./ask-form.ts";
import { calledOf, pastItsTime, stateOf, whatToDo } from "./list.ts";
import { printQuestion, questionsOf } from "./question.ts";
import { by, operate } from "./withdraw.ts";

interface AnswerOptions extends StoreOptions, ServerOptions {
  readonly data?: string;
  readonly askAgain?: true;
  readonly yes?: true;
}

/** Answers the questions of a waiting call, until its server has none that this command can answer. */
export async function answerWaiting(
  name: string,
  options: AnswerOptions,
  command: Command,
): Promise<void> {
  await withStore(options, async (opened) => {
    const isAsked = options.data === undefined && hasPerson();
    const answerNext = async (): Promise<WaitingCall> => {
      const [row] = await chooseCalls(opened, command, ({ calls }) => rowsNamed(calls, [name]));
      const call = await answerRound(opened, row!, { options, command, isAsked });
      if (!options.json) print(command, outcomeOf(call, row!.row, options));
      // Whoever sits at the terminal goes on with the next round.
      const isAskedMore = call.state === "waiting" && Object.keys(call.requests).length > 0;
      return isAsked && isAskedMore ? await answerNext() : call;
    };
    const call = await answerNext();
    const { state, round } = call;
    const questions = state === "waiting" ? call.requests : undefined;
    if (options.json) printJson(command, { state, round, questions });
    if (state === "outcome-unknown" || state === "expired")
      throw new CommandFailure(`The call is over: ${state}.`);
  });
}

async function answerRound(
  opened: OpenedStore,
  row: CallRow,
  {
    options,
    command,
    isAsked,
  }: { readonly options: AnswerOptions; readonly command: Command; readonly isAsked: boolean },
): Promise<WaitingCall> {
  const { call, sessionId, principal, open } = await operate(opened, row);
  const isPast = stateOf(row, Date.now()) === pastItsTime;
  refuseUnanswerable(row, call, isPast && options.askAgain !== true);
  const questions = questionsOf(call);
  const { url, round, askedAt, expiresAt } = call;
  const { origin } = new URL(url);
  tell(
    command,
    `${calledOf(call)} on ${origin} asks, round ${round}, since ${printTime(askedAt)}; good until ${printTime(expiresAt)}:`,
  );
  for (const question of questions) tell(command, printQuestion(question));
  if (questions.some(({ mode }) => mode === "url"))
    throw new CommandFailure(
      "Only the user of the call opens the page. Show it to them, or take the call back: waiting withdraw. Nothing was sent.",
    );
  const isConfirmed = isAsked && !options.yes;
  const access = accessTo([origin], options, { isAsked: isConfirmed, otherwise: "" });
  let responses: InputResponses = {};
  if (!isPast) {
    responses = isAsked ? await askAll(questions) : givenResponses(call, options);
    checkResponses(call, responses);
  }
  const what = isPast
    ? "Start the call over, so that its server asks anew, at"
    : "Send the answers to";
  if (isConfirmed) await confirmAct(`${what} ${origin}${access.withWhat}?`, {});
  const { admin } = open(options.askAgain ? "ask-again" : "fail", access.headers);
  return await admin.answer({ sessionId, principal, call }, responses, { by });
}

/** @throws {CommandFailure} for a call that takes no answers */
function refuseUnanswerable(row: CallRow, call: WaitingRecord, isTooLate: boolean): void {
  if (isTooLate)
    throw new CommandFailure(
      'The time of these questions is up, and only the application knows what that means. If its connection has onExpired: "ask-again", add --ask-again: the call starts over, and its server asks anew.',
    );
  if (call.state === "waiting" && call.type === "question") return;
  const now = Date.now();
  throw new CommandFailure(
    `This call takes no answer (${stateOf(row, now)}): ${whatToDo(row, now)}.`,
  );
}

/** Checks answers before anything is sent. @throws {CommandFailure} that names the field */
function checkResponses({ requests }: WaitingRecord, responses: InputResponses): void {
  try {
    checkInputResponses(requests, responses);
  } catch (error) {
    if (!McpSessionError.isInstance(error)) throw error;
    throw wrongUsage(`--data: ${error.message}`);
  }
}

/** The answers of `--data`. */
function givenResponses(call: WaitingRecord, { data }: AnswerOptions): InputResponses {
  const keys = Object.keys(call.requests);
  const text = data === "-" ? readFileSync(0, "utf8") : (data ?? "");
  const example = JSON.stringify({ [keys[0] ?? "key"]: { action: "accept", content: {} } });
  if (text.trim() === "")
    throw wrongUsage(
      `--data is missing: an answer for each question, such as ${example}, or - for stdin. A terminal asks instead.`,
    );
  try {
    return JSON.parse(text) as InputResponses;
  } catch {
    // The message of the parser would repeat the answer.
    throw wrongUsage(`--data is no JSON. It should be like ${example}.`);
  }
}

/** What comes next, for a person. */
function outcomeOf(call: WaitingCall, row: string, options: AnswerOptions): string {
  const again = ["waiting", "answer", row];
  switch (call.state) {
    case "settled":
      return "The server has answered. The next step of the application that resumes the call's messages gets the result.";
    case "waiting":
      return Object.keys(call.requests).length > 0
        ? `The server asks more, in round ${call.round}: ${typed(again, options, [call.server])}`
        : `The server wants the request again, without a question: ${typed([...again, "--data", "{}"], options, [call.server])}`;
    case "expired":
      return "The questions were too old, and nothing was carried out. The next step tells the model so.";
    case "outcome-unknown":
      return "Nobody knows whether the server has carried out the call, and it is not sent again. Look there before anyone makes it again.";
    default:
      return `The call is ${call.state}.`;
  }
}
