import { abortable } from "../../src/base/bounded-wait.ts";
import { isRecord } from "../../src/base/json-values.ts";
import { McpSessionError } from "../../src/base/mcp-session-error.ts";
import { parseEvents } from "../parse-events.ts";
import type { InvariantChecks } from "./invariants.ts";
import type { ClientPlan, Operation } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

/** What a client waits for, under its own id. */
interface Waiting {
  readonly nonce: string;
  readonly isCall: boolean;
  answers: number;
}

/** What an error says of itself, thrown or as an answer. */
interface FailureData {
  readonly code?: unknown;
  readonly reason?: unknown;
}

const meta = (nonce: string, progressToken: number) => ({ _meta: { nonce, progressToken } });

/** An MCP client as they all are: its ids start at 0, and it routes answers by them. */
export function createSimulatedClient({
  plan,
  process,
  url,
  owner,
  fetch,
  random,
  scheduler,
  checks,
}: {
  plan: ClientPlan;
  /** The process that the client runs in. */
  process: string;
  url: string;
  /** On whose behalf, as the `authorization` header says it. */
  owner: string;
  fetch: typeof globalThis.fetch;
  random: Random;
  scheduler: Scheduler;
  checks: InvariantChecks;
}): { run(): Promise<void> } {
  const { turns } = scheduler;
  /** All requests of this client, the settled ones too. */
  const requests = new Map<unknown, Waiting>();
  let nextId = 0;

  const post = (message: object, signal?: AbortSignal) =>
    fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: owner,
      },
      body: JSON.stringify(message),
      ...(signal && { signal }),
    });

  const answerQuestion = async (message: { id: unknown; params: { nonce: string } }) => {
    await turns(random.below(6));
    const answer = { jsonrpc: "2.0", id: message.id, result: { nonce: message.params.nonce } };
    await post(answer).catch((error: unknown) => checkError(error));
  };

  /** A message as real clients take it: by its id, whatever stream it came on. */
  const receive = (message: any): void => {
    if (message.method === "elicitation/create") void answerQuestion(message);
    if (message.method === "notifications/progress") {
      const { progressToken, message: nonce } = message.params;
      if (requests.get(progressToken)?.nonce !== nonce) {
        checks.violate("own-answer", `${plan.name} was told of the progress of ${nonce}`);
      }
    }
    if (message.method !== undefined) return;
    const request = requests.get(message.id);
    const { result, error } = message;
    const nonce = result?.["_meta"]?.nonce ?? error?.data?.nonce;
    if (request === undefined) {
      if (nonce !== undefined && nonce !== "stray") {
        checks.violate("own-answer", `${plan.name} was sent the answer to ${nonce}`);
      }
      return;
    }
    request.answers += 1;
    if (nonce === "stray") {
      checks.violate(
        "own-answer",
        `${plan.name} took an answer to nobody for that to ${request.nonce}`,
      );
    } else if (nonce !== undefined && nonce !== request.nonce) {
      checks.violate(
        "own-answer",
        `${plan.name} took the answer to ${nonce} for that to ${request.nonce}`,
      );
    }
    if (request.answers === 2) {
      checks.violate("one-outcome", `${request.nonce} was answered twice`);
    }
    for (const tool of result?.tools ?? []) {
      if (tool.description === `${url} ${owner}`) continue;
      checks.violate(
        "own-answer",
        `${plan.name} of ${owner} at ${url} was given the tools of ${tool.description}`,
      );
    }
    noteFailure(error?.data, request);
  };

  const noteFailure = ({ code, reason }: FailureData = {}, request: Waiting) => {
    if (typeof code !== "string") return;
    checks.count(`told ${reason === "redirect" ? reason : code}`);
    if (code === "SESSION_LOST" && request.isCall) checks.reportedNotCarriedOut(request.nonce);
  };

  const checkError = (error: unknown): void => {
    for (let cause = error; cause instanceof Error; cause = cause.cause) {
      const data = McpSessionError.isInstance(cause) ? JSON.stringify(cause.data) : "";
      checks.checkSecret("an error", `${cause.stack} ${data}`);
    }
  };

  /** Reads an answer to its end, or until the answer to `id` is there, and takes what it holds. */
  const read = async (response: Response, id: unknown): Promise<void> => {
    checks.checkSecret("headers", JSON.stringify([...response.headers]));
    const isEvents = response.headers.get("content-type")?.startsWith("text/event-stream");
    if (!isEvents) {
      const text = await response.text();
      checks.checkSecret(`a body with HTTP ${response.status}`, text);
      if (!response.ok) return;
      const message = parse(text);
      if (isRecord(message)) receive(message);
      return;
    }
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    const stopsEarly = random.chance(0.3);
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      rest += decoder.decode(value, { stream: !done });
      const end = rest.lastIndexOf("\n\n");
      if (end !== -1) {
        const whole = rest.slice(0, end + 2);
        rest = rest.slice(end + 2);
        checks.checkSecret("an answer", whole);
        for (const { data } of parseEvents(whole).events) {
          const message = parse(data);
          if (isRecord(message)) receive(message);
        }
      }
      if (done) return;
      if (stopsEarly && requests.get(id)?.answers) return await reader.cancel();
    }
  };

  /** Sends a request and takes what comes back; resolves when it has ended, however. */
  const request = async (
    method: string,
    params: (nonce: string, id: number) => object,
    { kind, givesUp }: Partial<Pick<Operation, "kind" | "givesUp">> = {},
  ): Promise<boolean> => {
    const id = nextId;
    nextId += 1;
    const nonce = `${plan.name}#${id}`;
    const isCall = method === "tools/call";
    const waiting: Waiting = { nonce, isCall, answers: 0 };
    requests.set(id, waiting);
    if (isCall) checks.willCall(nonce, process, kind === "read");
    const abort = new AbortController();
    const leave = new AbortController();
    if (givesUp) void giveUp(givesUp, id, abort, leave);
    try {
      const whole = (async () => {
        const response = await post(
          { jsonrpc: "2.0", id, method, params: params(nonce, id) },
          abort.signal,
        );
        await read(response, id);
        // A client that finds no answer in a good response waits for ever.
        if (response.ok && waiting.answers === 0) {
          checks.violate(
            "one-outcome",
            `${nonce} (${method}) got a whole answer without its message`,
          );
        }
        return response.ok;
      })();
      return await abortable(abortable(whole, abort.signal), leave.signal);
    } catch (error) {
      if (abort.signal.aborted) checks.count("call aborted");
      else if (leave.signal.aborted) checks.count("call cancelled by its client");
      else {
        checkError(error);
        noteFailure(
          McpSessionError.isInstance(error) ? { ...error.data, code: error.code } : undefined,
          waiting,
        );
        if (
          !McpSessionError.isInstance(error) &&
          !(error instanceof TypeError) &&
          !isStoreFailure(error)
        ) {
          checks.violate("one-outcome", `${nonce} (${method}) failed with ${String(error)}`);
        }
      }
      return false;
    }
  };

  const giveUp = async (
    { by, after }: NonNullable<Operation["givesUp"]>,
    id: number,
    abort: AbortController,
    leave: AbortController,
  ) => {
    await turns(after);
    const waiting = requests.get(id);
    if (waiting === undefined || waiting.answers > 0) return;
    checks.gaveUp(waiting.nonce);
    if (by === "abort") return abort.abort(new DOMException("Enough.", "AbortError"));
    const cancelled = {
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: id },
    };
    await post(cancelled).then((response) => response.body?.cancel(), checkError);
    leave.abort(new DOMException("Cancelled.", "AbortError"));
  };

  const operate = async (operation: Operation): Promise<void> => {
    await turns(operation.startsAfter);
    const { kind } = operation;
    if (kind === "read" || kind === "write") {
      const params = (nonce: string, id: number) => ({
        name: kind,
        arguments: { nonce },
        ...meta(nonce, id),
      });
      await request("tools/call", params, operation);
    } else if (kind === "list") await request("tools/list", () => ({}), operation);
    else if (kind === "ping") await request("ping", meta, operation);
    else if (kind === "notify") {
      const message = { jsonrpc: "2.0", method: "notifications/roots/list_changed" };
      await post(message).then(readText, checkError);
    } else {
      const headers = { authorization: owner };
      await fetch("https://login.example/token", { method: "POST", headers, body: "grant" }).then(
        readText,
        checkError,
      );
    }
  };

  const readText = async (response: Response) => {
    checks.checkSecret("headers", JSON.stringify([...response.headers]));
    checks.checkSecret("a body", await response.text());
  };

  const shakeHands = async (): Promise<void> => {
    const clientInfo = { name: plan.name, version: "1" };
    if (plan.handshake === "discover") {
      const said = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": clientInfo,
        "io.modelcontextprotocol/clientCapabilities": {},
      };
      await request("server/discover", () => ({ _meta: said }));
    }
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const after = plan.abortsHandshakeAfter;
    const givesUp = after === undefined ? undefined : ({ by: "abort", after } as const);
    const isInitialized = await request("initialize", () => params, { givesUp });
    if (!isInitialized) return;
    const message = { jsonrpc: "2.0", method: "notifications/initialized" };
    await post(message).then(readText, checkError);
  };

  return {
    async run() {
      if (plan.handshake !== "none") await shakeHands();
      await Promise.all(plan.operations.map(operate));
    },
  };
}

/** What the simulated store throws at the save point; core passes it on as it is. */
export class StoreFailure extends Error {}

function isStoreFailure(error: unknown): boolean {
  return error instanceof StoreFailure;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
