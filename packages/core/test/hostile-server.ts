import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect } from "vitest";
import { startMcpServer } from "./mcp-server.ts";
import { parseEvents } from "./parse-events.ts";
import type { JsonRpcMessage } from "../src/wire/json-rpc.ts";
import { saveSession, startStep } from "./step.ts";

/** Answers a call in any way; `id` is the request's on the wire, `sessionId` the session's. */
export type HostileAnswer = (response: ServerResponse, id: string, sessionId: string) => void;

/** What a client sees of a call. */
export interface Outcome {
  /**
   * - "result" and "error": its answer, the server's own, exactly one
   * - a code of ours: an error of ours, as an answer or as the rejection of the fetch
   * - "refused": an HTTP refusal without an answer in it
   * - "rejected": the fetch or the body failed otherwise
   * - "unanswered": an HTTP success without an answer in it
   */
  readonly seen: string;
  /** The messages that the client got, parsed. */
  readonly messages: readonly any[];
  /** All that is there to print: errors with their causes, headers, bodies and events. */
  readonly printed: string;
}

const call = { jsonrpc: "2.0", id: 0, method: "tools/call", params: { name: "buy" } } as const;

/** A resumed step on a server that answers the tool call with `answer` and everything else well. */
async function startHostileStep(
  answer: HostileAnswer,
  options: Parameters<typeof startStep>[1] = {},
) {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const step = startStep(server, { snapshot, ...options });
  server.use(({ message }, response, next) => {
    if (message?.method !== "tools/call") return next();
    answer(response, message.id, snapshot.sessionId);
  });
  return { ...step, server, snapshot };
}

/**
 * The outcome of a call that is answered so. Checks what holds for any answer: the session goes on
 * and the id is in nothing that can be printed. A client that takes messages sees the same.
 */
export async function callHostile(answer: HostileAnswer): Promise<Outcome> {
  const outcome = await callOnce(answer, ({ client }) => outcomeOf(client.post(call)));
  const taken = await callOnce(answer, takeMessages);
  expect(taken.seen).toBe(outcome.seen);
  const isPrintable = outcome.printed.length < 100_000;
  if (outcome.seen === "result" && isPrintable) {
    const own = outcome.messages.flat().find(({ id, method }) => id === 0 && !method);
    expect(taken.messages.at(-1)).toEqual(own);
  }
  return outcome;
}

type HostileStep = Awaited<ReturnType<typeof startHostileStep>>;

async function takeMessages({ send }: HostileStep): Promise<Outcome> {
  const messages: JsonRpcMessage[] = [];
  const take = (message: JsonRpcMessage) => void messages.push(message);
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const sending = send(call, { headers, take });
  const sent = await sending.catch(() => new Response());
  if (sent instanceof Response) return await outcomeOf(sending as Promise<Response>);
  messages.push(sent);
  return {
    seen: seenIn([sent], new Response()),
    messages,
    printed: inspect(messages, { depth: 50 }),
  };
}

async function callOnce(
  answer: HostileAnswer,
  callOn: (step: HostileStep) => Promise<Outcome>,
): Promise<Outcome> {
  const step = await startHostileStep(answer);
  const { client, events, server, slot, snapshot } = step;
  const outcome = await callOn(step);
  const printed = outcome.printed + inspect(events, { depth: null });
  expect(printed).not.toContain(snapshot.sessionId);
  expect(await client.request("ping")).toMatchObject({ result: {} });
  expect(server.log.filter((entry) => entry === "POST tools/call")).toHaveLength(1);
  expect(slot.snapshot).toEqual(snapshot);
  return { ...outcome, printed };
}

/** How a request ended, read to its end. */
export async function outcomeOf(answer: Promise<Response>, id: unknown = 0): Promise<Outcome> {
  let printed = "";
  try {
    const response = await answer;
    printed += `${response.status} ${response.statusText} ${inspect([...response.headers])}`;
    const text = await response.text();
    printed += text;
    const messages = messagesIn(text, response.headers.get("content-type") ?? "");
    const own = messages.flat().filter((message) => message?.id === id && !("method" in message));
    return { seen: seenIn(own, response), messages, printed };
  } catch (error) {
    printed += inspect(error, { depth: null });
    const { code } = error as { code?: unknown };
    return { seen: typeof code === "string" ? code : "rejected", messages: [], printed };
  }
}

/** The messages that a client would find, by the letter of the specifications. */
function messagesIn(text: string, contentType: string): any[] {
  const isEvents = /^text\/event-stream(;|$)/.test(contentType);
  const isJson = /^application\/json(;|$)/.test(contentType);
  const texts = isEvents
    ? parseEvents(text)
        .events.filter(({ type }) => type === "" || type === "message")
        .map(({ data }) => data)
    : isJson
      ? [text]
      : [];
  return texts.flatMap((item) => {
    try {
      // As `Response.json()` reads it.
      return [JSON.parse(item.replace(/^\uFEFF/, "")) as unknown];
    } catch {
      return [];
    }
  });
}

function seenIn(own: readonly any[], response: Response): string {
  const [answer, second] = own;
  if (second !== undefined) return "answered twice";
  if (answer === undefined) return response.ok ? "unanswered" : "refused";
  if (answer.error === undefined) return "result";
  return answer.error?.data?.code ?? "error";
}

/** Fails a test in which a promise was rejected and nobody cared. */
export function watchUnhandledRejections(): void {
  const rejections: unknown[] = [];
  const listener = (reason: unknown) => void rejections.push(reason);
  beforeEach(() => {
    rejections.length = 0;
    process.on("unhandledRejection", listener);
  });
  afterEach(async () => {
    // Rejections are reported once the microtasks are over.
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
    process.off("unhandledRejection", listener);
    expect(rejections).toEqual([]);
  });
}
