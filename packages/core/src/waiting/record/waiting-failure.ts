import { McpSessionError } from "../../base/mcp-session-error.ts";
import { failed } from "../../session/session-errors.ts";
import { fateOf, waitingTypes, type WaitingState } from "./waiting-call.ts";
import type { WaitingRecord } from "./waiting-record.ts";

/** Why a call that is over has no result. */
export function waitingFailure({
  type,
  state,
  url,
  request: { method },
}: WaitingRecord): McpSessionError {
  const request = { method, url: new URL(url) };
  const { leg, expired } = waitingTypes[type];
  switch (state) {
    case "outcome-unknown":
      return failed(
        "OUTCOME_UNKNOWN",
        request,
        `${leg}. Whether the call was carried out is unknown; check before you make it again.`,
      );
    case "expired":
      return over(request, state, `${expired} in time. The call was not carried out`);
    case "withdrawn":
      return over(request, state, `the application has taken the call back. ${fateOf(type)}`);
    case "settled":
      return failed(
        "OUTCOME_UNKNOWN",
        request,
        "the call was carried out. Its result was too long to be kept, and its server could not be asked for it now, or has it no more.",
      );
    default:
      return over(request, state, "the call waits");
  }
}

function over(request: Parameters<typeof failed>[1], state: string, why: string): McpSessionError {
  const { message, data } = failed("NOT_WAITING", request, `${why}.`);
  return new McpSessionError("NOT_WAITING", message, { data: { ...data, state } });
}

/** How far a call is whose record the store does not take. `held`: its server keeps it, and it was looked at. */
export type CallFate = "not-sent" | "refused" | "sent" | "held";

const whyNotKept: Readonly<Record<CallFate, string>> = {
  "not-sent": "the store failed before the call was sent. Nothing was sent by this step; try again",
  refused: "the call was refused and not carried out, and the store has not taken that",
  sent: "the call was sent, and the store has not taken what became of it. Whether it was carried out is unknown; look at the server before you make it again",
  held: "the server keeps the call, and the store has not taken what it said. Look at the call again",
};

/** The store has not taken the record of a call. */
export function notKept(
  { url, request: { method } }: Pick<WaitingRecord, "url" | "request">,
  fate: CallFate,
  cause: unknown,
): McpSessionError {
  const code = fate === "sent" ? "OUTCOME_UNKNOWN" : "STORE_FAILED";
  return failed(code, { method, url: new URL(url), cause }, `${whyNotKept[fate]}.`);
}

/** A placeholder's call that is not there. */
export function goneCall(): McpSessionError {
  return new McpSessionError(
    "NOT_WAITING",
    "The call that waited is not kept any more, or it is another call than this one. Whether it was carried out is unknown; check before you make it again.",
  );
}

/** A call whose connection is declared without `waiting` now. */
export function notPausing({
  connection,
  state,
}: Pick<WaitingRecord, "connection" | "state">): McpSessionError {
  return new McpSessionError(
    "CONNECTION_INVALID",
    `connections.${connection}.waiting must be set for calls that wait to be answered. Nothing was sent.`,
    { data: { field: `connections.${connection}.waiting`, connection, state } },
  );
}

/** A call whose server has another URL now. */
export function askedElsewhere({ connection, state, url }: WaitingRecord): McpSessionError {
  return new McpSessionError(
    "CONNECTION_INVALID",
    `connections.${connection}.url is not the URL whose server asked, at ${new URL(url).origin}. Answers only go there. Nothing was sent.`,
    { data: { field: `connections.${connection}.url`, connection, state } },
  );
}

function needsSignIn({ connection, state, url }: NotAsking, startUrl?: string): McpSessionError {
  const { origin } = new URL(url);
  const where = startUrl === undefined ? "" : ` at ${startUrl}`;
  return new McpSessionError(
    "NOT_WAITING",
    `The call waits until the user has signed in to connection ${connection}${where}, and takes no answer. It goes on afterwards. Nothing was sent.`,
    { data: { connection, origin, state, ...(startUrl !== undefined && { startUrl }) } },
  );
}

type NotAsking = Pick<WaitingRecord, "type" | "connection" | "state" | "url">;

/**
 * A call that takes no answer.
 *
 * @param startUrl where the sign-in starts, if it is known
 */
export function notAsked(call: NotAsking, startUrl?: string): McpSessionError {
  if (call.type === "sub-agent") return waitsBelow(call);
  return call.type === "call-waits-for-sign-in" ? needsSignIn(call, startUrl) : worksOn(call);
}

/** A call that its server works on. */
function worksOn({ connection, state }: NotAsking): McpSessionError {
  const message =
    "The server works on the call, and asks nothing. It takes no answer; look at it with check. Nothing was sent.";
  return new McpSessionError("NOT_WAITING", message, { data: { connection, state } });
}

/** A tool call that goes on when a call of its sub-agent has its result. */
function waitsBelow({ connection, state }: NotAsking): McpSessionError {
  const message =
    "A call of the sub-agent in this call waits, and takes the answer. The list of waiting calls has it, with its path. Nothing was sent.";
  return new McpSessionError("NOT_WAITING", message, { data: { connection, state } });
}

/** The agent session was ended while a leg was under way. @param state the state that the leg has led to */
export function sessionEnded(state: WaitingState): McpSessionError {
  const message = "The agent session was ended while the answer was under way.";
  const fate = {
    settled: "The server has answered the call, and its answer is not kept.",
    "outcome-unknown": "Whether the call was carried out is unknown.",
  }[state as string];
  const code = fate === undefined ? "NOT_WAITING" : "OUTCOME_UNKNOWN";
  return new McpSessionError(code, `${message} ${fate ?? `The call is ${state}.`}`, {
    data: { state },
  });
}

/** Why a tool call in which agents run is over, although their calls wait. */
export const tooLongToWait =
  "The messages of the sub-agent are too long to be kept while its call waits. Keep them yourself: agentTool({ history }).";

/** @param state the state of the call; `undefined` for an unknown one, or another principal's */
export function notWaiting(state: WaitingState | undefined): McpSessionError {
  const why =
    state === undefined
      ? "There is no such waiting call for this principal and agent session."
      : state === "answering"
        ? "The call is being answered, perhaps by another process. Look at the waiting calls again."
        : `The call does not wait for these answers any more (state ${state}). Look at the waiting calls again.`;
  return new McpSessionError("NOT_WAITING", `${why} Nothing was sent.`, {
    data: { ...(state !== undefined && { state }) },
  });
}
