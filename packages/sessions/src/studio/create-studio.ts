import { McpSessionError } from "@durable-mcp/core";
import { invalidOption } from "@durable-mcp/core/internal";
import { checkOptions, optionalOptions } from "../base/check-options.ts";
import type { DurableSessions } from "../management/durable-sessions.ts";
import { sessionsContexts } from "../sessions/sessions-context.ts";
import { type Acted, actOnCall, endSession } from "./acts.ts";
import { chatIn, chatPage } from "./chat-page.ts";
import { addressProblem, checkOperator, createFormTokens, type Operator } from "./guards.ts";
import { chatsPage, type Look, signInsPage, type StudioNames, waitsPage } from "./lists.ts";
import { respond, says } from "./page.ts";

/** Options of `createStudio`. */
export interface StudioOptions {
  /** From `createDurableSessions`, or those of a durable agent. */
  readonly sessions: DurableSessions<any, any>;
  /**
   * Who asks, and what they may; `undefined` for somebody who may nothing. It is asked for each request. To answer is
   * to speak for the user who was asked: grant it to nobody who should not.
   */
  readonly authorize: (request: Request) => Operator | undefined | Promise<Operator | undefined>;
  /**
   * The origin at which browsers reach the studio, such as `https://ops.example`. Requests to other hosts, and forms
   * of other origins, are refused. @default this machine alone: `localhost`, `127.0.0.1`, `[::1]`, at any port
   */
  readonly origin?: string | undefined;
  /** Names for who must not see the ids of chats and users. @default the ids themselves */
  readonly names?: StudioNames | undefined;
}

const namesKind = { methods: ["show", "find"], is: "names, with show and find" } as const;
const studioSchema = optionalOptions(
  { origin: "text", names: namesKind },
  { sessions: "anything", authorize: "function" },
);

/**
 * Creates the pages on which operators see in a browser which chats have sessions and what waits, and answer, take
 * back and end there. Mount it under one path, for GET and POST. It runs no script, and shows no session id, token,
 * key, answer or argument.
 *
 * @example
 * const studio = createStudio({ sessions, authorize: async (request) => await operatorOf(request) });
 * app.all("/studio", (c) => studio(c.req.raw));
 *
 * @returns answers a request; it rejects with what `authorize` throws
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createStudio(options: StudioOptions): (request: Request) => Promise<Response> {
  const { authorize, origin } = checkOptions(studioSchema, options);
  const context = sessionsContexts.get(options.sessions);
  if (context === undefined) {
    const fix = "must come from createDurableSessions, and of this copy of @durable-mcp/sessions";
    throw invalidOption("sessions", fix);
  }
  if (origin !== undefined && !(URL.canParse(origin) && new URL(origin).origin === origin))
    throw invalidOption("origin", "must be an origin, such as https://ops.example");
  const tokens = createFormTokens(context.store);
  const { admin } = options.sessions;

  const act = async (look: Look, form: FormData): Promise<Acted> => {
    const of = chatIn(look);
    if (!(await tokens.isOf(look.operator.name, form.get("token"))))
      return says("The form is too old", "Open the page again. Nothing was done.", 403);
    if (of === undefined) return noPage;
    const isEnd = look.query.get("page") === "end";
    return isEnd ? await endSession(look, of, form) : await actOnCall(look, of, form);
  };

  return async (request) => {
    const query = new URL(request.url).searchParams;
    const { method } = request;
    const problem = addressProblem(request, origin);
    if (problem !== undefined) return respond(says("Refused", problem, 403), query);
    if (!["GET", "HEAD", "POST"].includes(method))
      return respond(says("Refused", "Pages are read, and forms are sent.", 405), query);
    const operator = checkOperator(await authorize(request));
    if (operator === undefined || !operator.may.includes("look"))
      return respond(says("Refused", "You may not look here.", 403), query);
    try {
      const mayAct = operator.may.length > 1;
      const token = mayAct ? await tokens.of(operator.name) : "";
      const { names } = options;
      const look: Look = { context, admin, operator, query, now: context.now(), token, names };
      const acted = method === "POST" ? await act(look, await formOf(request)) : await show(look);
      if ("to" in acted)
        return new Response(null, { status: 303, headers: { location: acted.to } });
      return respond(acted, query, operator.name);
    } catch (error) {
      if (!McpSessionError.isInstance(error)) throw error;
      return respond(says("It failed", error.message, 503), query, operator.name);
    }
  };
}

/** The page of an address. */
async function show(look: Look): Promise<Acted> {
  const of = chatIn(look);
  switch (look.query.get("page") ?? "chats") {
    case "chats":
      return await chatsPage(look);
    case "waits":
      return await waitsPage(look);
    case "sign-ins":
      return await signInsPage(look);
    case "chat":
      return of === undefined ? noPage : await chatPage(look, of);
    case "end":
      return of === undefined ? noPage : await endSession(look, of, undefined);
    default:
      return noPage;
  }
}

/** What was sent; nothing of what is no form. */
async function formOf(request: Request): Promise<FormData> {
  return await request.formData().catch(() => new FormData());
}

const noPage = says("No such page", "The address names no page of the studio.", 404);
